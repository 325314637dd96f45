#!/bin/sh
# Writes a report of the structure of NVIDIA's nvidia-bug-report.sh, with invented content and without a GPU.
# What each setting does; set them in nvidia-bug-report.conf beside this file:
EXTRA_TEXT_KIB=0        # so much more kernel log, in KiB of text
SLOW_S=0                # sleep so many seconds in the middle
HANG=no                 # yes: never go on after the middle · normal: the same, but not in safe mode
IGNORE_TERM=no          # yes: SIGTERM does nothing
BACKGROUND_CHILD=no     # yes: leave a process behind in this session · moved: in a process group of its own
STOP_BEFORE_FOOTER=no   # yes: end without the closing tables and the footer, with exit code 0
NO_OUTPUT=no            # yes: write nothing at all, with exit code 0
PLAIN_TEXT=no           # yes: behave as on a host that has no gzip
STDERR_KIB=0            # so much noise on stderr, in KiB
EXIT_CODE=0             # the last exit code

VERSION=99000001
RULE=____________________________________________

self_folder=$(dirname -- "$0")
# shellcheck source=/dev/null
[ -f "$self_folder/nvidia-bug-report.conf" ] && . "$self_folder/nvidia-bug-report.conf"

usage() {
    cat <<END
$(basename -- "$0"): writes a bug report with invented content.

    -h, --help            print this text
    -o, --output-file F   write to F; ".gz" is appended where gzip is available
    --safe-mode           leave out what may hang
    --extra-system-data   write some more sections
END
}

flags=$*
name=nvidia-bug-report.log
safe_mode=no
extra_data=no
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        -o | --output-file)
            [ -n "${2:-}" ] || { usage; exit 1; }
            name=$2
            shift ;;
        --safe-mode) safe_mode=yes ;;
        --extra-system-data) extra_data=yes ;;
        *) usage; exit 1 ;;
    esac
    shift
done

if [ "$PLAIN_TEXT" = no ] && command -v gzip >/dev/null; then
    pack="gzip -c"
    output=$name.gz
    old=$name.old.gz
else
    pack=cat
    output=$name
    old=$name.old
fi

[ "$IGNORE_TERM" = yes ] && trap '' TERM
[ "$STDERR_KIB" -gt 0 ] && head -c "$((STDERR_KIB * 1024))" /dev/zero | tr '\0' '!' >&2
[ "$NO_OUTPUT" = yes ] && exit "$EXIT_CODE"

[ -f "$output" ] && mv "$output" "$old"
if ! touch "$output" 2>/dev/null; then
    echo "ERROR: the folder of $output cannot be written." >&2
    exit 1
fi

# Packs stdin as one member at the end of the report.
append() { $pack >>"$output"; }

# A member of no text, as sections leave that have nothing to say.
append_nothing() { $pack </dev/null >>"$output"; }

# A file of the system under its heading; $1 is the path that is shown.
append_file() {
    if [ -r "$1" ]; then
        printf '%s\n\n*** %s\n*** ls: -r--r--r-- 1 root root 4096 2026-01-01 00:00:00 %s\n' "$RULE" "$1" "$1"
        head -c 16384 "$1" | tr -d '\000'
        printf '\n'
    else
        printf '%s\n\n*** %s does not exist\n\n' "$RULE" "$1"
    fi | append
}

# A block of bytes, as dumps stand in a report; $1 is the command line that is shown, $2 their number.
append_block() {
    { printf '%s\n\n%s\n\n' "$RULE" "$1"; head -c "$2" /dev/urandom | base64; printf '\n'; } | append
}

# Lines of a kernel log; $1 is their size in KiB.
print_kernel_log() {
    awk -v size="$(($1 * 1024))" 'BEGIN {
        srand(638)
        while (written < size) {
            line = sprintf("[%12.6f] gpu-stand-in 0000:%02x:00.0: event %08x of engine %d, intr %08x",
                           at += rand() * 3, rand() * 256, rand() * 4294967295, rand() * 8, rand() * 4294967295)
            print line
            written += length(line) + 1
        }
    }'
}

{
    printf '%s\n\nStart of NVIDIA bug report log file.  This one is a stand-in: its content is invented.\n\n' "$RULE"
    printf 'nvidia-bug-report.sh Version: %s\n\n' "$VERSION"
    printf 'Date: %s\nuname: %s\ncommand line flags: %s\n\n' "$(date)" "$(uname -a)" "$flags"
} | append
{
    printf '======================================\n'
    printf 'Component            Version\n'
    printf 'stand-in driver      580.000.00\n'
    printf 'stand-in firmware    99.00.00\n\n'
} | append

empty=0
while [ "$empty" -lt 60 ]; do
    append_nothing
    empty=$((empty + 1))
done
for bus in 0 1 2 3 4 5 6 7; do
    for file in power/control power/runtime_status numa_node; do
        append_file "/sys/bus/pci/devices/0000:0$bus:00.0/$file"
    done
done
for file in version cmdline cpuinfo meminfo modules interrupts iomem ioports pci devices mtrr filesystems; do
    append_file "/proc/$file"
done
for file in params registry version; do
    append_file "/proc/driver/nvidia/$file"
done
append_block "/usr/bin/nvidia-debugdump -D" 200000
{ printf '%s\n\ndmesg:\n\n' "$RULE"; print_kernel_log 256; printf '\n'; } | append
[ "$EXTRA_TEXT_KIB" -gt 0 ] && print_kernel_log "$EXTRA_TEXT_KIB" | append

case $BACKGROUND_CHILD in
    yes) sleep 3600 & ;;
    moved) timeout 3600 sleep 3600 & ;;
esac
[ "$SLOW_S" != 0 ] && sleep "$SLOW_S"
if [ "$HANG" = yes ] || { [ "$HANG" = normal ] && [ "$safe_mode" = no ]; }; then
    while :; do sleep 3600; done
fi

if [ "$safe_mode" = no ]; then
    { printf '%s\n\n/usr/bin/nvidia-smi --query\n\n' "$RULE"; printf 'Attached GPUs : 0\n\n'; } | append
    append_block "NVML debug log" 20000
fi
[ "$extra_data" = yes ] && append_file /proc/self/status
append_block "acpidump" 40000

[ "$STOP_BEFORE_FOOTER" = yes ] && exit "$EXIT_CODE"
{
    printf '%s\n\nSections left out\n' "$RULE"
    printf -- '--------------------------------------------------------------------------------\n'
    printf '%-24s | %s\n' "InfiniBand" "no such tool" "Fabric manager" "not running" "MST" "no such tool"
    printf '\n'
} | append
{
    printf '%s\n\nErrors\n' "$RULE"
    printf -- '--------------------------------------------------------------------------------\n'
    printf '%-24s | %s\n\n' "nvidia-smi" "this is a stand-in"
} | append
printf '%s\n\nEnd of NVIDIA bug report log file.\n' "$RULE" | append
echo "$output is written."
exit "$EXIT_CODE"
