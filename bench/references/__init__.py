"""What the measurements are held against: programs that do the same without us. Run as processes of their own."""
