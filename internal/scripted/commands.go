package scripted

import (
	"path"
	"strings"

	"aibox/internal/shellquote"
)

// writeCommand returns a shell command that writes a file.
func writeCommand(name, content string) string {
	command := "printf %s " + shellquote.Quote(content) + " > " + shellquote.Quote(operand(name))
	if dir := path.Dir(name); dir != "." && dir != "/" {
		command = "mkdir -p -- " + shellquote.Quote(dir) + " && " + command
	}
	return command + " && echo wrote " + shellquote.Quote(name)
}

// editCommand returns a shell command that replaces a text in a file and shows the
// difference. It uses perl, which every Debian has, and which leaves the file unchanged if
// it fails.
func editCommand(edit Edit) string {
	name := shellquote.Quote(operand(edit.Path))
	return "OLD=" + shellquote.Quote(edit.Old) + " NEW=" + shellquote.Quote(edit.New) +
		` perl -0777 -i -pe 's/\Q$ENV{OLD}\E/$ENV{NEW}/ or die "the old text is not there\n"' ` + name +
		" && git --no-pager diff -- " + name
}

// reachMark begins the line in which a reach step reports its result.
const reachMark = "reach: "

// reachCommand returns a shell command that requests a URL from inside the sandbox and
// prints the result in one line. It succeeds either way: a refusal is a result, too.
func reachCommand(url string) string {
	report := func(verdict string) string { return `echo ` + shellquote.Quote(reachMark+url+verdict) }
	return "if curl -sS -o /dev/null --max-time 5 -- " + shellquote.Quote(url) + "; then " + report(" answered") +
		"; else " + report(" was refused") + `" (curl ended with $?)"; fi`
}

// operand prevents a name that begins with a dash from being read as an option.
func operand(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}
