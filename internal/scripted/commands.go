package scripted

import (
	"path"
	"strings"
)

// quote makes one word of text for a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// writeCommand writes a file from a shell.
func writeCommand(name, content string) string {
	command := "printf %s " + quote(content) + " > " + quote(operand(name))
	if dir := path.Dir(name); dir != "." && dir != "/" {
		command = "mkdir -p -- " + quote(dir) + " && " + command
	}
	return command + " && echo wrote " + quote(name)
}

// editCommand replaces a text in a file from a shell, with the perl that every
// Debian has, and shows what changed.
func editCommand(edit Edit) string {
	name := quote(operand(edit.Path))
	return "OLD=" + quote(edit.Old) + " NEW=" + quote(edit.New) +
		` perl -0777 -i -pe '$n += s/\Q$ENV{OLD}\E/$ENV{NEW}/; END { unless ($n) { print STDERR "the old text is not there\n"; exit 1 } }' ` +
		name + " && git --no-pager diff -- " + name
}

// reachMark begins the line in which a reach step reports.
const reachMark = "reach: "

// reachCommand tries a URL from inside the box and says in one line what came of
// it. It succeeds either way: being refused is a finding.
func reachCommand(url string) string {
	return `url=` + quote(url) + `
if command -v curl >/dev/null; then said=$(curl -sS -o /dev/null --max-time 5 -w 'HTTP %{http_code}' -- "$url" 2>&1); code=$?
elif command -v python3 >/dev/null; then said=$(python3 -c 'import sys, urllib.request as r; print("HTTP", r.urlopen(sys.argv[1], timeout=5).status)' "$url" 2>&1 | tail -n 1); case $said in HTTP*) code=0;; *) code=1;; esac
else said='neither curl nor python3 is here to try it'; code=1
fi
if [ $code = 0 ]; then said=$(printf %s "$said" | tail -n 1); else said=$(printf '%s\n' "$said" | grep -v '^HTTP 000' | tail -n 1); said=${said%HTTP 000}; fi
if [ $code = 0 ]; then echo "` + reachMark + `$url answered ($said)"; else echo "` + reachMark + `$url was refused ($said)"; fi`
}

// operand keeps a name that begins with a dash from being read as an option.
func operand(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}
