package branch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/risk"
)

// storedForms are the beginnings of contents that Git LFS and git-crypt have stored.
var storedForms = []string{"version https://git-lfs.github.com/spec/", "\x00GITCRYPT\x00"}

// checkPlain notes a file that would be committed unencrypted or unconverted. If a filter
// is not configured, the agent has the stored form, and may have copied it.
func (p *cleanDir) checkPlain(d git.Difference) error {
	content, cut, err := p.blobReader().ReadWithin(d.Now.ID, inMemory)
	if err == nil && (cut || !slices.ContainsFunc(storedForms, func(form string) bool { return strings.HasPrefix(string(content), form) })) {
		p.plain = append(p.plain, d)
	}
	return err
}

// notSetUp is the fault for files that would be committed unencrypted or unconverted.
func (p *cleanDir) notSetUp() error {
	first := p.plain[0].Path
	filter := p.user.Attrs[first]["filter"]
	first = p.prefix + first
	name, which, belong := filterProgram(filter), review.Path(first).String(), "belongs"
	if more := len(p.plain) - 1; more > 0 {
		which, belong = which+" and "+amount.Of(more, "more file"), "belong"
	}
	refused := fault.New(fault.Refused, "%s %s to %s (filter=%s), which your git is not set up for: the content itself would go into your history, so nothing was delivered",
		which, belong, name, termtext.Escape(filter)).
		Hint("set it up, then try again: %s", setUp[name])
	if p.Owner == "" {
		return refused
	}
	return refused.Hint("or take the content itself, file by file: aibox accept %s --accept-risky %s", p.Owner, review.Path(first)).
		Hint("or take other files alone: aibox accept %s --files PATH", p.Owner)
}

// checkBundled refuses a tree with a file of which a filter stored only a pointer, unless a file of base
// has the same one: its content would be in the store of the repository, which no bundle has.
func (c *Cleaner) checkBundled(ctx context.Context) (err error) {
	if len(c.stored) == 0 {
		return nil
	}
	blobs := c.owned.Blobs(ctx)
	defer func() { err = errors.Join(err, blobs.Close()) }()
	missing := map[string]string{} // by blob: a path
	for name, entry := range c.stored {
		content, cut, err := blobs.ReadWithin(entry.ID, risk.MaxPointer)
		if err != nil {
			return fmt.Errorf("reading what your git would store: %s", git.Message(err))
		}
		_, _, pointer := risk.Pointer(content)
		if !cut && (pointer || strings.HasPrefix(string(content), "/annex/objects/")) {
			missing[entry.ID] = name
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for e, err := range c.owned.Entries(ctx, c.Base) {
		if err != nil {
			return fmt.Errorf("comparing with what you have: %s", git.Message(err))
		}
		delete(missing, e.ID)
	}
	if len(missing) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Values(missing))
	which := review.Path(c.prefix + names[0]).String()
	if more := len(names) - 1; more > 0 {
		which += " and " + amount.Of(more, "more file")
	}
	return fault.New(fault.Refused, "a bundle would not have the content of %s, of which your git stores only a pointer, so nothing was accepted", which).
		Hint("deliver the changes to a branch, take them as a patch, or accept other files alone")
}

// isConsented reports whether the user accepts a file by name despite its risks.
func (p *cleanDir) isConsented(name string) bool {
	return slices.Contains(p.Consent, p.prefix+name)
}

// configuration returns settings of git as environment variables. They make git fail if a
// filter fails, instead of storing the plain content. In a dry run, Git LFS stores its
// objects in the temporary folder.
//
// Git starts filters in the top of the working tree, which here holds files of the agent. A
// filter that looks for a program or a library in the current folder, as "python -m" does,
// would run the agent's. So a shell changes to an empty folder first.
func (p *cleanDir) configuration() []string {
	settings := map[string]string{}
	for name, cleans := range p.user.Filters {
		if cleans {
			settings["filter."+name+".required"] = "true"
		}
	}
	for setting, program := range p.user.Programs {
		if program != "" {
			settings[setting] = enterFolder + program
		}
	}
	if p.DryRun {
		settings["lfs.storage"] = filepath.Join(p.dir, "lfs")
	}
	return append(git.Env(settings), filterFolder+"="+emptyIn(p.dir))
}

// filterFolder is the variable with the folder that filters start in. In the command line itself,
// git would replace parts of its name, such as %f.
const filterFolder = "AIBOX_FILTER_FOLDER"

// enterFolder begins the command line of a filter.
const enterFolder = `cd "$` + filterFolder + `" || exit 1; `

// setUp holds the commands that configure each filter program.
var setUp = map[string]string{
	"Git LFS": "git lfs install", "git-crypt": "git-crypt unlock", "transcrypt": "transcrypt", "git-annex": "git annex init",
}

// filterProgram returns the program that keeps the content of files with this filter out of
// the history; "" for other and unknown filters.
func filterProgram(filter string) string {
	switch {
	case filter == "lfs":
		return "Git LFS"
	case filter == "git-crypt", strings.HasPrefix(filter, "git-crypt-"):
		return "git-crypt"
	case filter == "crypt":
		return "transcrypt"
	case filter == "annex":
		return "git-annex"
	}
	return ""
}
