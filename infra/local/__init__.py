"""The whole pipeline on one machine, with the code that is deployed and real servers wherever one can be had."""
