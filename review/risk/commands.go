package risk

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// commandKeys are the keys of settings and CI files whose values are command lines, in lower case.
var commandKeys = []string{
	"run", "script", "before_script", "after_script", "entry", "command", "commands", "cmd", "shell_cmd", "args",
	"initializecommand", "oncreatecommand", "updatecontentcommand", "postcreatecommand", "poststartcommand", "postattachcommand", "enter",
}

// pipelineKeys are more such keys, of CI files only: bash is also a tool of agents that settings permit.
var pipelineKeys = slices.Concat(commandKeys, []string{"bash", "pwsh", "powershell", "install", "before_install", "build_script", "test_script"})

// ownKeys are the beginnings of the names of settings, without a dot, whose keys are patterns or names of hooks.
var ownKeys = []string{"huskyrc", "lintstagedrc", "lint-staged.config", "simple-git-hooks", "nano-staged", "githooks", "rusty-hook", "hk.pkl"}

// proseEndings and shellEndings are the extensions of texts for readers, and of shell scripts.
var (
	proseEndings = []string{".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc", ".html"}
	shellEndings = []string{".sh", ".bash", ".zsh", ".ksh", ".fish"}
)

// commands are the command lines of the caller: all of a shell script, and the values of keys for
// commands of other files. Prose has none.
func (c Caller) commands() []byte {
	base := strings.TrimPrefix(strings.ToLower(path.Base(c.Name)), ".")
	ext, keys := strings.ToLower(path.Ext(c.Name)), commandKeys
	switch c.rule.name {
	case "called", "direnv":
		return c.Text
	case "npm-scripts", "composer":
		if ext == ".json" {
			return c.Text
		}
	case "git-hooks":
		if ext == "" {
			return c.Text
		}
	case "hook-manager":
		if found := texts(c.Text); len(found) > 0 {
			return []byte(strings.Join(found, "\n"))
		}
		if ext == "" || slices.ContainsFunc(ownKeys, func(start string) bool { return strings.HasPrefix(base, start) }) {
			return c.Text
		}
	case "ci-pipeline":
		if strings.Contains(base, "jenkinsfile") {
			return c.Text
		}
		keys = pipelineKeys
	}
	first, _, _ := bytes.Cut(c.Text, []byte("\n"))
	switch {
	case slices.Contains(proseEndings, ext):
		return nil
	case slices.Contains(shellEndings, ext), bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("sh")):
		return c.Text
	}
	return valuesOfKeys(c.Text, keys)
}

// isComment reports whether a line without the space around it is a comment.
func isComment(line []byte) bool {
	return bytes.HasPrefix(line, []byte("#")) || bytes.HasPrefix(line, []byte("//"))
}

// valuesOfKeys are the values of the keys in a text of JSON, YAML or TOML, for a search without a parser.
// Each begins a line, except that args continue the line of their command.
func valuesOfKeys(text []byte, keys []string) []byte {
	var out bytes.Buffer
	block, separator := -1, byte('\n') // the column of a key whose value continues on the lines that are indented more
	for whole := range bytes.Lines(text) {
		line := bytes.TrimRight(whole, " \t\r\n")
		trimmed := bytes.TrimLeft(line, " \t")
		if len(trimmed) == 0 || isComment(trimmed) {
			continue
		}
		indent := len(line) - len(trimmed)
		if block >= 0 && (indent > block || indent == block && trimmed[0] == '-') {
			out.WriteByte(separator)
			out.Write(bytes.TrimPrefix(trimmed, []byte("- ")))
			continue
		}
		block = -1
		for at := 0; at < len(line) && block < 0; at++ {
			if line[at] != ':' && line[at] != '=' {
				continue
			}
			key, column := keyBefore(line, at)
			if !slices.Contains(keys, key) {
				continue
			}
			separator = '\n'
			if key == "args" {
				separator = ' '
			}
			out.WriteByte(separator)
			value, end := valueAt(line, at+1)
			switch {
			case end > 0:
				at = end - 1
			case len(value) == 0 || value[0] == '|': // a list, or lines as they are
				block, value = column, nil
			default: // its lines are one
				block, separator = column, ' '
			}
			out.Write(bytes.ReplaceAll(value, []byte(`\"`), []byte(`"`)))
		}
	}
	return append(out.Bytes(), '\n')
}

// keyBefore is the key that a separator at a place follows, in lower case, and its column.
func keyBefore(line []byte, at int) (key string, column int) {
	end := len(bytes.TrimRight(line[:at], " \t\"'"))
	start := end
	for start > 0 && end-start <= 32 && (isASCIILetter(line[start-1]) || line[start-1] == '_' || line[start-1] == '-' || line[start-1] == '.') {
		start--
	}
	if end < at && start > 0 && line[start-1] == line[at-1] { // in quotes
		return strings.ToLower(string(line[start:end])), start - 1
	}
	return strings.ToLower(string(line[start:end])), start
}

// valueAt is the value in a line from a place on. If it ends in quotes or brackets, end is the place behind it.
func valueAt(line []byte, at int) (value []byte, end int) {
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	value = line[at:]
	if len(value) == 0 {
		return nil, 0
	}
	quote := value[0]
	switch quote {
	case '[':
		if n := bytes.IndexByte(value, ']'); n > 0 {
			return value[1:n], at + n + 1
		}
	case '"', '\'':
		for i := 1; i < len(value); i++ {
			switch {
			case value[i] == '\\' && quote == '"':
				i++
			case value[i] == quote:
				rest := bytes.TrimLeft(value[i+1:], " \t")
				if len(rest) == 0 || strings.IndexByte(",}]#", rest[0]) >= 0 {
					return value[1:i], at + i + 1
				}
				return value, 0
			}
		}
	}
	return value, 0
}
