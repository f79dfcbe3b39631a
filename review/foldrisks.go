package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/review/risk"
)

const (
	maxFoldRules = 16     // rules whose risks are shown for one folder
	maxFoldCalls = 10_000 // folded files that are searched for in callers
)

// foldRisks holds the risks of the files in a folded folder, by rule.
type foldRisks struct {
	change *Change
	rules  map[string]*ruleRisks
}

// ruleRisks summarizes the risks that one rule found.
type ruleRisks struct {
	risk  risk.Risk // the most severe, of the first file
	path  Path
	files int
}

// fold adds the risks of a folded file to those of its folder.
func (a *assessment) fold(c *Change, path string, risks []risk.Risk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.folds[c.Path]
	if f == nil {
		f = &foldRisks{change: c, rules: map[string]*ruleRisks{}}
		a.folds[c.Path] = f
	}
	counted := map[string]bool{}
	for _, r := range risks {
		known := f.rules[r.Rule]
		if known == nil {
			known = &ruleRisks{risk: r, path: Path(path)}
			f.rules[r.Rule] = known
		}
		order := cmp.Or(cmp.Compare(r.Severity, known.risk.Severity), cmp.Compare(Path(path), known.path))
		if order < 0 {
			known.risk, known.path = r, Path(path)
		}
		if !counted[r.Rule] {
			counted[r.Rule] = true
			known.files++
		}
	}
}

// sumFolds gives each folder the risks of its files: one risk for each rule, which names
// one file and counts the others. A folder with a file that is held back is held back.
func (a *assessment) sumFolds() {
	for _, f := range a.folds {
		risks := make([]risk.Risk, 0, len(f.rules))
		for _, found := range f.rules {
			r := found.risk
			r.Line = 0
			r.Found = cut(found.path.String(), 200)
			if found.files > 1 {
				r.Found += " and " + amount.Of(found.files-1, "other file")
			}
			risks = append(risks, r)
		}
		sorting.Func(risks, func(x, y *risk.Risk) int {
			return cmp.Or(cmp.Compare(x.Severity, y.Severity), cmp.Compare(x.Rule, y.Rule))
		})
		f.change.Risks = risks[:min(len(risks), maxFoldRules)]
	}
}

// cut returns the last bytes of an escaped text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text[len(text)-most:]) // the end of a path is the most informative part
	return "…" + string(runes[min(len(runes), 3):])
}

// calledFolded visits the folded files that a caller may run. Above a limit it holds the
// folder back instead.
func (a *assessment) calledFolded(ctx context.Context, visit func(fold *Change, d git.Difference)) error {
	if len(a.set.folds()) == 0 {
		return nil
	}
	var failed error
	words := risk.WordsOf(a.callers.each(ctx, &failed))
	if failed != nil {
		return failed
	}
	sum := ListSize{}
	return a.set.EachFolded(ctx, a.repo, func(fold *Change, d git.Difference) error {
		if d.Now.Path == "" || !words.MayName(d.Path) && !slices.ContainsFunc(a.links.aliases(d.Path), words.MayName) {
			return nil
		}
		if sum.Add(d.Path); !sum.Within(maxFoldCalls) {
			a.fold(fold, d.Path, []risk.Risk{{
				Rule: "folded", Title: fmt.Sprintf("one of more than %d files that others may run", maxFoldCalls), Severity: risk.Medium,
			}})
			return nil
		}
		visit(fold, d)
		return nil
	})
}
