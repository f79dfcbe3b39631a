package plain

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"aibox/internal/amount"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/summary"
)

// most is how many sessions are listed at once.
const most = 10

// sessions returns the list of sessions and the other top-level choices.
func (t *conversation) sessions() (list, error) {
	all, err := t.Sessions.Summaries()
	if err != nil {
		t.fail(err) // sessions that can be read are listed anyway
	}
	filter := summary.ParseFilter(t.filter)
	kept := make([]summary.Summary, 0, len(all))
	for i := range all {
		if filter.Match(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	sorting.Func(kept, summary.NewestFirst)
	t.from = max(0, min(t.from, len(kept)-1))
	shown := kept[t.from:min(len(kept), t.from+most)]
	l := list{title: t.title(all, len(kept), len(shown)), other: t.look, ask: "A number, a letter, or words to search for", top: true}
	for i := range shown {
		id := shown[i].ID
		l.choices = append(l.choices, choice{text: sentence(&shown[i]), do: func() error {
			return t.menu(func() (list, error) { return t.session(id) })
		}})
	}
	if t.from+most < len(kept) {
		l.choices = append(l.choices, choice{"m", "more sessions", func() error { t.from += most; return nil }})
	}
	if t.from > 0 || t.filter != "" {
		l.choices = append(l.choices, choice{"a", "all sessions again, the newest first", func() error { t.from, t.filter = 0, ""; return nil }})
	}
	l.choices = append(l.choices,
		choice{"n", "new run", t.newRun},
		choice{"i", "images", func() error { return t.menu(t.images) }},
		choice{"w", "network", func() error { return t.menu(t.network) }},
		choice{"d", "this machine", func() error { return t.menu(t.machine) }},
		choice{"s", "settings", func() error { return t.menu(t.settings) }})
	return l, nil
}

// look uses an answer that is not a choice as a filter.
func (t *conversation) look(words string) error {
	if utf8.RuneCountInString(words) < 2 { // a typo
		t.say("\"%s\" is not in the list", termtext.Escape(words))
		return nil
	}
	if problem := summary.ParseFilter(words).Problem(); problem != "" {
		t.say("%s", problem)
		return nil
	}
	t.filter, t.from = words, 0
	return nil
}

// title returns the number of sessions.
func (t *conversation) title(all []summary.Summary, kept, shown int) string {
	if len(all) == 0 {
		return "No sessions yet. n starts one; d checks whether this machine is ready."
	}
	running, open := 0, 0
	for i := range all {
		if all[i].Phase != session.Ended {
			running++
		}
		if all[i].Open() {
			open++
		}
	}
	title := fmt.Sprintf("%s, %d running, %d to review", amount.Of(len(all), "session"), running, open)
	if t.filter != "" {
		title += fmt.Sprintf("; %d with \"%s\"", kept, termtext.Escape(t.filter))
	}
	if shown < kept {
		title += fmt.Sprintf("; these are %d to %d, newest first", t.from+1, t.from+shown)
	}
	return title
}

// sentence describes a session in one line.
func sentence(b *summary.Summary) string {
	place := termtext.Escape(b.Place())
	if b.Branch != "" {
		place += " on " + termtext.Escape(b.Branch)
	}
	words := []string{string(b.ID), string(b.Status()), place}
	if b.Changed {
		words = append(words, fmt.Sprintf("%s +%d -%d", amount.Of(b.Files, "file"), b.Added, b.Deleted))
	}
	if b.Unknown && b.Phase == session.Ended {
		words = append(words, "changes unknown")
	}
	if b.Refused > 0 {
		words = append(words, fmt.Sprintf("%d refused", b.Refused))
	}
	text := strings.Join(append(words, amount.Age(time.Since(b.Created))+" old"), ", ")
	if b.Task != "" {
		text += ": " + termtext.Escape(b.Task)
	}
	return text
}

// session returns the actions of a session.
func (t *conversation) session(id session.ID) (list, error) {
	all, _ := t.Sessions.Summaries()
	i := slices.IndexFunc(all, func(b summary.Summary) bool { return b.ID == id })
	if i < 0 {
		t.say("%s is gone", id)
		return list{}, errBack
	}
	b, name := &all[i], string(id)
	can := b.Actions()
	l := list{title: sentence(b)}
	add := func(possible bool, text string, do func() error) {
		if possible {
			l.choices = append(l.choices, choice{text: text, do: do})
		}
	}
	add(b.Waiting > 0, "answer its "+amount.Of(b.Waiting, "question"), t.answer(name))
	add(can.Attach, "attach; ctrl-p ctrl-q detaches", t.run("attach", name))
	add(can.Stop && !can.Attach, "follow its output", t.run("attach", name))
	add(true, "show its output", t.run("logs", name))
	add(can.Review, "list the changed files", t.run("diff", "--stat", name))
	add(can.Review, "show the whole diff", t.run("diff", "--no-pager", name))
	add(can.Accept, "review and accept it hunk by hunk", t.run("accept", "--interactive", name))
	add(can.Accept, "accept everything except risky files, on a new branch",
		t.ifSure("Accept "+name+" on a new branch?", "accept", name))
	add(can.Accept, "accept everything except risky files, into your working tree",
		t.ifSure("Accept "+name+" into your working tree?", "accept", "--to", "worktree", name))
	add(can.Discard, "discard its changes", t.ifSure("Discard the changes of "+name+"?", "discard", name))
	add(can.Restore, "restore the discarded changes", t.ifSure("Create the workspace of "+name+" again, with the discarded changes?", "recover", name, "--to-workspace"))
	add(can.Stop, "give it more time", t.extend(name))
	add(can.Stop, "stop it", t.ifSure("Stop "+name+"?", "stop", name))
	add(true, "run it again", t.run("rerun", name))
	add(can.Remove, "remove the session", t.ifSure("Remove "+name+"?", "rm", name))
	return l, nil
}

// ifSure returns an action that asks before it runs one of aibox's commands.
func (t *conversation) ifSure(question string, args ...string) func() error {
	return func() error {
		sure, err := t.sure(question)
		if err != nil || !sure {
			return err
		}
		return t.run(args...)()
	}
}

// answer lists the questions of the sessions and asks for the answer to one of this session.
func (t *conversation) answer(id string) func() error {
	return func() error {
		if err := t.run("answer")(); err != nil {
			return err
		}
		answer, err := t.ask("Your answer, such as yes; the number first if there are several questions, such as 2 deny. Empty for none:")
		if words := strings.Fields(answer); err == nil && len(words) > 0 {
			return t.run(append([]string{"answer", id}, words...)...)()
		}
		return err
	}
}

// extend asks how much more time a session gets.
func (t *conversation) extend(id string) func() error {
	return func() error {
		by, err := t.ask("How much more time, such as 30m? Empty for none:")
		if err != nil || by == "" {
			return err
		}
		return t.run("extend", id, by)()
	}
}
