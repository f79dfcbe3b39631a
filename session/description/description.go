// Package description writes the commit message and the pull request for a session's work.
package description

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/risk/secrets"
	"aibox/session"
)

// Text describes a session's work in a commit or a pull request. Text that the agent chose
// (names, subjects, targets) appears only as data: in a message only names of plain
// letters, in Markdown only as code. Secrets are replaced by secrets.Removed.
type Text struct {
	Title   string `json:"title"`   // the task in one line of at most 72 columns
	Message string `json:"message"` // of a commit: the title and a summary of the record, ending in a newline
	Body    string `json:"body"`    // of a pull request, in Markdown
	Secrets int    `json:"-"`       // the number of secrets replaced in the task and the commands
}

// Of describes the part of the session's work that is in set. For each verification command
// it considers only the last run on the set's tree.
func Of(s session.Session, set *review.ChangeSet, verified []session.Verification) Text {
	w := work{Session: s, task: taskOf(s), set: set, verified: latestOf(verified, set.Tree)}
	count := w.task.secrets
	for i := range w.verified {
		clean, n := secrets.Redact(w.verified[i].Command)
		w.verified[i].Command, count = clean, count+n
	}
	title, rest := w.title()
	return Text{Title: title, Message: w.message(title, rest), Body: w.request(), Secrets: count}
}

// work is part of a session's work, with its verifications.
type work struct {
	session.Session
	task     task
	set      *review.ChangeSet
	verified []session.Verification
}

// latestOf returns the last verification of tree by each command, in order.
func latestOf(all []session.Verification, tree string) []session.Verification {
	var last []session.Verification
	for _, v := range all {
		if v.Tree != tree {
			continue
		}
		last = slices.DeleteFunc(last, func(earlier session.Verification) bool { return earlier.Command == v.Command })
		last = append(last, v)
	}
	return last
}

// outcome returns the result of a verification as a clause.
func outcome(v *session.Verification) string {
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
	maxFolders = 12  // the number of folders that are listed
	maxNamed   = 100 // the number of files that are listed
)

// message returns a commit message: the title, the rest of the task, and a summary of the
// record. The task is indented so that none of its lines is read as a trailer or a comment.
func (w work) message(title, rest string) string {
	var b strings.Builder
	b.WriteString(title + "\n\n")
	if rest != "" {
		for line := range strings.SplitSeq(rest, "\n") {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
		b.WriteString("\n")
	}
	for _, f := range folders(w.set.Changes) {
		fmt.Fprintf(&b, "- %s: %s\n", f.plainName(), f.count())
	}
	if len(w.set.Changes) > 0 {
		b.WriteString("\n")
	}
	for _, v := range w.verified {
		fmt.Fprintf(&b, "Verified with %q: %s.\n", termtext.Escape(v.Command), outcome(&v))
	}
	fmt.Fprintf(&b, "Made by %s in the aibox session %s.\n", w.maker(), w.ID)
	return b.String()
}

// maker returns the agent with its model.
func (w work) maker() string {
	if w.Model == "" {
		return w.Agent
	}
	return w.Agent + " (" + plainOr(w.Model, "a model with an unusual name") + ")"
}

// folder is a folder and the number of changes in it.
type folder struct {
	name                  string // "" is the top folder; raw
	more                  int    // the number of other folders that it summarizes
	files, added, deleted int
}

// folders counts the changes by folder, two levels deep if that gives few lines, else one
// level deep. It keeps the folders with most files, sorted by name.
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

// folderAt returns the folder of a file, at most depth levels below the top.
func folderAt(file string, depth int) string {
	dir := path.Dir(file)
	if dir == "." || dir == "/" {
		return ""
	}
	parts := strings.SplitN(dir, "/", depth+1)
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// largestFolders keeps the largest folders and summarizes the others in one entry.
func largestFolders(all []folder) []folder {
	sorting.Func(all, func(a, b *folder) int { return cmp.Or(b.files-a.files, strings.Compare(a.name, b.name)) })
	var rest folder
	for len(all) > maxFolders {
		last := all[len(all)-1]
		all = all[:len(all)-1]
		rest.more, rest.files, rest.added, rest.deleted = rest.more+1, rest.files+last.files, rest.added+last.added, rest.deleted+last.deleted
	}
	sorting.Func(all, func(a, b *folder) int { return strings.Compare(a.name, b.name) })
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

// plainName returns the folder's name if it can only be read as a name.
func (f folder) plainName() string {
	switch {
	case f.more > 0:
		return fmt.Sprintf("%d other folders", f.more)
	case f.name == "":
		return "top level"
	}
	return plainOr(f.name, "a folder with an unusual name")
}

// plainName matches names that no forge interprets as a mention, an issue, a trailer, a
// link or a command such as [skip ci].
var plainName = lazyregexp.New(`^[A-Za-z0-9._+/-]{1,100}$`)

func plainOr(word, otherwise string) string {
	if !plainName.MatchString(word) || strings.Contains(word, "//") {
		return otherwise
	}
	if _, found := secrets.Redact(word); found > 0 {
		return otherwise
	}
	return word
}
