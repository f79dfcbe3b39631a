package conversation

import (
	"encoding/json"
	"slices"
	"strings"
)

// The names that agents give to the arguments of tools which change files.
var (
	pathNames    = []string{"file_path", "filePath", "path", "absolute_path", "target_file", "filename"}
	oldNames     = []string{"old_string", "oldString", "old_str"}
	newNames     = []string{"new_string", "newString", "new_str"}
	contentNames = []string{"content", "file_text", "contents", "fileText"}
	patchNames   = []string{"patchText", "patch", "input"}
)

// editsOf returns the changes of files that a tool's arguments request.
func editsOf(input json.RawMessage) []Edit {
	fields := object(input)
	if patch := firstString(fields, patchNames...); strings.Contains(patch, patchBegin) {
		return patchEdits(patch)
	}
	path := firstString(fields, pathNames...)
	if path == "" {
		return nil
	}
	if _, several := firstOf(fields, "edits"); several {
		var diffs []string
		for _, one := range list(fields["edits"]) {
			if diff, ok := replacement(object(one)); ok {
				diffs = append(diffs, diff)
			}
		}
		return []Edit{{Path: path, Change: Update, Diff: strings.Join(diffs, "@@\n")}}
	}
	if diff, ok := replacement(fields); ok {
		return []Edit{{Path: path, Change: Update, Diff: diff}}
	}
	if content, ok := firstOf(fields, contentNames...); ok && content[0] == '"' {
		return []Edit{{Path: path, Change: Write, Diff: diff("", str(content))}}
	}
	return nil
}

// replacement returns the diff of a text that replaces another one.
func replacement(fields map[string]json.RawMessage) (text string, ok bool) {
	after, ok := firstOf(fields, newNames...)
	if !ok {
		return "", false
	}
	return diff(firstString(fields, oldNames...), str(after)), true
}

// The lines of a patch in the format of Codex's apply_patch.
const (
	patchBegin  = "*** Begin Patch"
	patchAdd    = "*** Add File: "
	patchUpdate = "*** Update File: "
	patchDelete = "*** Delete File: "
	patchLine   = "*** "
)

// patchEdits returns the changes of a patch.
func patchEdits(patch string) []Edit {
	var edits []Edit
	var lines strings.Builder // of the last edit
	end := func() {
		if len(edits) > 0 {
			edits[len(edits)-1].Diff = lines.String()
		}
		lines = strings.Builder{}
	}
	for text := range strings.Lines(patch) {
		name, change := patchHead(text)
		switch {
		case change != "":
			end()
			edits = append(edits, Edit{Path: name, Change: change})
		case len(edits) > 0 && !strings.HasPrefix(text, patchLine):
			lines.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	end()
	return edits
}

// patchHead returns the file and the change that a line of a patch begins; "" for any other
// line. The name is a copy, so the patch can be freed.
func patchHead(line string) (name string, change Change) {
	for prefix, kind := range map[string]Change{patchAdd: Add, patchUpdate: Update, patchDelete: Delete} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.Clone(strings.TrimSpace(rest)), kind
		}
	}
	return "", ""
}

// The bounds of a diff. Beyond maxCompared lines, all lines between the first and the last
// difference count as changed.
const (
	contextLines = 3
	maxCompared  = 300
)

// diff returns the lines that change from before to after, with some around them.
func diff(before, after string) string {
	old, replaced := splitLines(before), splitLines(after)
	head := 0
	for head < len(old) && head < len(replaced) && old[head] == replaced[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(replaced)-head && old[len(old)-1-tail] == replaced[len(replaced)-1-tail] {
		tail++
	}
	var out strings.Builder
	write := func(mark string, lines []string) {
		for _, text := range lines {
			out.WriteString(mark + text + "\n")
		}
	}
	write(" ", old[max(0, head-contextLines):head])
	middle(old[head:len(old)-tail], replaced[head:len(replaced)-tail], write)
	write(" ", old[len(old)-tail:len(old)-tail+min(tail, contextLines)])
	return out.String()
}

// middle writes the difference of two lists of lines, by their longest common
// subsequence if they are short.
func middle(old, replaced []string, write func(mark string, lines []string)) {
	if len(old) > maxCompared || len(replaced) > maxCompared {
		write("-", old)
		write("+", replaced)
		return
	}
	common := make([][]int, len(old)+1) // length of the longest common subsequence of the rests
	for i := range common {
		common[i] = make([]int, len(replaced)+1)
	}
	for i, text := range slices.Backward(old) {
		for j, other := range slices.Backward(replaced) {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if text == other {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(replaced) {
		switch {
		case i < len(old) && j < len(replaced) && old[i] == replaced[j]:
			write(" ", old[i:i+1])
			i, j = i+1, j+1
		case j == len(replaced) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			write("-", old[i:i+1])
			i++
		default:
			write("+", replaced[j:j+1])
			j++
		}
	}
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Count returns the numbers of added and deleted lines in the diff.
func (e Edit) Count() (added, deleted int) {
	for text := range strings.Lines(e.Diff) {
		switch text[0] {
		case '+':
			added++
		case '-':
			deleted++
		}
	}
	return added, deleted
}

// hunksOf returns the hunks of a unified diff of one file, without its header.
func hunksOf(unified string) string {
	var out strings.Builder
	in := false
	for text := range strings.Lines(unified) {
		in = in || strings.HasPrefix(text, "@@")
		if in && !strings.HasPrefix(text, "\\") {
			out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return out.String()
}
