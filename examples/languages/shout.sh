#!/usr/bin/env bash
# The node `shout`, in Bash: one task as JSON on stdin, its output on stdout.
set -euo pipefail
# The text is taken over as it stands: a JSON string in, a JSON string out. Letters behind a backslash mean something else in capitals.
text=$(tr '\n\r\t' '   ' | LC_ALL=C sed -nE 's/.*"text" *: *"(([^"\\]|\\.)*)".*/\1/p')
[[ $text == *\\* ]] && { echo 'signaller: failed unfit_text a text with escapes is not shouted' >&2; exit 65; }
printf '"%s!"\n' "${text^^}"
