package session

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
)

// Description is what can be said of a session's work where it is delivered. Text
// that the agent chose (names, subjects, targets) appears in it only as data: in a
// message only names of plain letters, in Markdown only as code.
type Description struct {
	Title   string `json:"title"`   // the task in one line of at most 72 characters
	Message string `json:"message"` // of a commit: the title and a summary of the record, ended by a newline
	Body    string `json:"body"`    // of a pull request, in Markdown
}

// Describe describes the part of the session's work that set holds. Of the
// verifications the last one of each command counts that ran on the set's tree.
func Describe(s Session, set *review.ChangeSet, verified []Verification) Description {
	d := Description{Title: s.title()}
	verified = latestOf(verified, set.Tree)
	d.Message = s.message(d.Title, set, verified)
	d.Body = s.request(set, verified)
	return d
}

// latestOf are the last verifications of tree by each command, in order.
func latestOf(all []Verification, tree string) []Verification {
	var last []Verification
	for _, v := range all {
		if v.Tree != tree {
			continue
		}
		last = slices.DeleteFunc(last, func(earlier Verification) bool { return earlier.Command == v.Command })
		last = append(last, v)
	}
	return last
}

// outcome says how a verification went.
func (v *Verification) outcome() string {
	switch {
	case v.Passed():
		return "passed"
	case v.ExitCode > 0:
		return fmt.Sprintf("failed with exit code %d", v.ExitCode)
	default:
		return "did not end by itself"
	}
}

const (
	maxTitle   = 72  // characters
	maxTask    = 40  // lines of the task
	maxFolders = 12  // that are listed
	wrapAt     = 72  // characters
	maxNamed   = 100 // files that are listed
)

// title is the first line of the task, or says whose work it is.
func (s Session) title() string {
	task := strings.TrimSpace(s.Prompt)
	switch {
	case task != "":
	case s.Feedback != "":
		task = "Follow the review of " + string(s.Resumes)
	case len(s.Args) > 0:
		task = "Run " + strings.TrimSpace(strings.Join(s.Args, " "))
	}
	line, _, _ := strings.Cut(task, "\n")
	line = strings.TrimSpace(termtext.Escape(strings.TrimSpace(line)))
	if line == "" {
		return "Work of " + s.Agent
	}
	if runes := []rune(line); len(runes) > maxTitle {
		return strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
	}
	return line
}

// message is the message of a commit.
func (s Session) message(title string, set *review.ChangeSet, verified []Verification) string {
	var b strings.Builder
	b.WriteString(title + "\n\n")
	task := s.task()
	if rest, begins := strings.CutPrefix(task, title); begins { // no need to say it twice
		task = strings.TrimLeft(rest, "\n")
	}
	if task != "" {
		for _, line := range wrapText(task, wrapAt-2) {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
		b.WriteString("\n")
	}
	for _, f := range folders(set.Changes) {
		fmt.Fprintf(&b, "- %s: %s\n", f.plainName(), f.count())
	}
	if len(set.Changes) > 0 {
		b.WriteString("\n")
	}
	for _, v := range verified {
		fmt.Fprintf(&b, "Verified with %q: %s.\n", termtext.Escape(v.Command), v.outcome())
	}
	fmt.Fprintf(&b, "Made by %s in the aibox session %s.\n", s.maker(), s.ID)
	return b.String()
}

// maker is the agent with its model.
func (s Session) maker() string {
	if s.Model == "" {
		return s.Agent
	}
	return s.Agent + " (" + plainOr(s.Model, "a model with an unusual name") + ")"
}

// task is what was asked for, safe and cut.
func (s Session) task() string {
	task := strings.TrimSpace(strings.ReplaceAll(s.Prompt, "\r\n", "\n"))
	if task == "" {
		task = strings.TrimSpace(strings.Join(s.Args, " "))
	}
	lines := strings.Split(termtext.Text(task), "\n")
	if len(lines) > maxTask {
		lines = append(lines[:maxTask], "…")
	}
	for i, line := range lines {
		if len(line) > 2000 {
			lines[i] = strings.ToValidUTF8(line[:2000], "") + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// wrapText breaks the lines of text between words.
func wrapText(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		start := len(line) - len(strings.TrimLeft(line, " \t"))
		current := line[:start]
		for i, word := range strings.Fields(line) {
			if i > 0 && len([]rune(current))+1+len([]rune(word)) > width {
				lines = append(lines, current)
				current = line[:start]
			} else if i > 0 {
				current += " "
			}
			current += word
		}
		lines = append(lines, current)
	}
	return lines
}

// folder sums up the changes in one.
type folder struct {
	name                  string // "" is the top; raw
	more                  int    // how many other folders it sums up
	files, added, deleted int
}

// folders sums the changes up by folder, two levels deep when that makes few lines,
// else one; those with most files are kept, in the order of their names.
func folders(changes []review.Change) []folder {
	for depth := 2; ; depth-- {
		byName := map[string]*folder{}
		for _, c := range changes {
			name := folderAt(c.Path.Raw(), depth)
			f := byName[name]
			if f == nil {
				f = &folder{name: name}
				byName[name] = f
			}
			f.files, f.added, f.deleted = f.files+c.Count(), f.added+c.Added, f.deleted+c.Deleted
		}
		if len(byName) > maxFolders && depth > 1 {
			continue
		}
		all := make([]folder, 0, len(byName))
		for _, f := range byName {
			all = append(all, *f)
		}
		return largestFolders(all)
	}
}

// folderAt is the folder of a file, at most depth levels below the top.
func folderAt(file string, depth int) string {
	dir := path.Dir(file)
	if dir == "." || dir == "/" {
		return ""
	}
	parts := strings.SplitN(dir, "/", depth+1)
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// largestFolders keeps the largest folders and sums up the others.
func largestFolders(all []folder) []folder {
	slices.SortFunc(all, func(a, b folder) int { return cmp.Or(b.files-a.files, strings.Compare(a.name, b.name)) })
	var rest folder
	for len(all) > maxFolders {
		last := all[len(all)-1]
		all = all[:len(all)-1]
		rest.more, rest.files, rest.added, rest.deleted = rest.more+1, rest.files+last.files, rest.added+last.added, rest.deleted+last.deleted
	}
	slices.SortFunc(all, func(a, b folder) int { return strings.Compare(a.name, b.name) })
	if rest.more > 0 {
		all = append(all, rest)
	}
	return all
}

func (f folder) count() string {
	noun := "files"
	if f.files == 1 {
		noun = "file"
	}
	return fmt.Sprintf("%d %s, +%d -%d", f.files, noun, f.added, f.deleted)
}

// plainName is the folder's name where it can say nothing but a name.
func (f folder) plainName() string {
	switch {
	case f.more > 0:
		return fmt.Sprintf("%d other folders", f.more)
	case f.name == "":
		return "at the top"
	}
	return plainOr(f.name, "a folder with an unusual name")
}

// plainName are names that no forge takes for a mention, an issue, a trailer, a link or
// an order such as [skip ci].
var plainName = regexp.MustCompile(`^[A-Za-z0-9._+/-]{1,100}$`)

func plainOr(word, otherwise string) string {
	if !plainName.MatchString(word) || strings.Contains(word, "//") {
		return otherwise
	}
	return word
}
