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
// Debian has, and shows what changed. Perl leaves the file alone when it dies.
func editCommand(edit Edit) string {
	name := quote(operand(edit.Path))
	return "OLD=" + quote(edit.Old) + " NEW=" + quote(edit.New) +
		` perl -0777 -i -pe 's/\Q$ENV{OLD}\E/$ENV{NEW}/ or die "the old text is not there\n"' ` + name +
		" && git --no-pager diff -- " + name
}

// reachMark begins the line in which a reach step reports.
const reachMark = "reach: "

// reachCommand tries a URL from inside the box and says in one line what came of
// it. It succeeds either way: being refused is a finding.
func reachCommand(url string) string {
	report := func(verdict string) string { return `echo ` + quote(reachMark+url+verdict) }
	return "if curl -sS -o /dev/null --max-time 5 -- " + quote(url) + "; then " + report(" answered") +
		"; else " + report(" was refused") + `" (curl ended with $?)"; fi`
}

// operand keeps a name that begins with a dash from being read as an option.
func operand(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}
