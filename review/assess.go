package review

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/review/risk"
	"aibox/workspace"
)

// Assessed reports whether the change set has the risks of this version's rules. When it
// does not, Assess finds them again.
func (cs *ChangeSet) Assessed() bool { return cs.Rules == risk.RulesVersion }

// NoteRisks adds a note on how the risks were found, unless it is there. The next Assess removes it.
func (cs *ChangeSet) NoteRisks(note string) {
	if !slices.Contains(cs.Notes, note) {
		cs.Notes, cs.RiskNotes = append(cs.Notes, note), append(cs.RiskNotes, note)
	}
}

// Assess applies the rules of package risk to every change and fills in the risks. It
// reads the owned repository and the user's own git settings and hooks, never the workspace. Its
// cost depends on the size of the changes. On an error, the changes keep the risks that they had.
func Assess(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet) (err error) {
	repo := git.Owned(cs.GitDir)
	a := &assessment{set: cs, repo: repo, callers: callers{repo: repo}, room: semaphore.NewWeighted(maxJudging), folds: map[Path]*foldRisks{}}
	before := make([][]risk.Risk, len(cs.Changes))
	for i := range cs.Changes {
		before[i], cs.Changes[i].Risks = cs.Changes[i].Risks, nil
	}
	defer func() {
		for i := range cs.Changes {
			if err != nil { // the risks by earlier rules hold back more than none
				cs.Changes[i].Risks = before[i]
			}
		}
	}()
	var notes, more, linkNotes []string
	g, within := errgroup.WithContext(ctx)
	if len(cs.Changes) > 0 {
		covers, err := ws.Covers()
		if err != nil {
			return fmt.Errorf("looking for hidden files: %w", err)
		}
		a.covers = covers
		old, err := a.baselineCallers(ctx)
		if err == nil {
			linkNotes, err = a.readLinks(ctx, old)
		}
		if err != nil {
			return fmt.Errorf("looking for symlinks: %w", err)
		}
		g.Go(func() (err error) {
			a.callers.settings, notes, err = userCallers(within, repo, ws, cs.BaseTree)
			return err
		})
		g.Go(func() (err error) { more, err = a.findCallers(within, old); return err })
		g.Go(func() error { return a.judge(within) })
	}
	err = g.Wait()
	if err == nil && len(cs.Changes) > 0 {
		err = a.called(ctx)
	}
	if err != nil {
		return fmt.Errorf("looking for risks: %w", err)
	}
	cs.Notes = slices.DeleteFunc(cs.Notes, func(note string) bool { return slices.Contains(cs.RiskNotes, note) })
	cs.RiskNotes = nil
	if long := a.callers.long; len(long) > 0 {
		why := fmt.Sprintf("they are longer than %s, or those before them have %s", amount.Bytes(risk.MaxContent), amount.Bytes(maxLongCallers))
		more = append(more, notSearched(amount.Of(len(long), "file"), long[0].Path, why))
	}
	many := 0
	for i := range cs.Changes {
		if len(cs.Changes[i].Aliases) >= maxAliases || len(cs.Changes[i].OldAliases) >= maxAliases {
			many++
		}
	}
	if many > 0 {
		linkNotes = append(linkNotes, fmt.Sprintf("symlinks give %s %d other names or more, of which only the first %d were judged", amount.Of(many, "changed file"), maxAliases, maxAliases))
	}
	for _, note := range slices.Concat(linkNotes, more, notes) {
		cs.NoteRisks(note)
	}
	a.sumFolds()
	cs.Rules = risk.RulesVersion
	return nil
}

// assessment is one run of Assess.
type assessment struct {
	set     *ChangeSet
	repo    *git.Repo
	callers callers
	links   links
	covers  func(path string) bool
	room    *semaphore.Weighted

	mu    sync.Mutex
	folds map[Path]*foldRisks
}
