package description

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/markdown"
	"aibox/internal/termtext"
	"aibox/review/risk/secrets"
)

// request returns the text of a pull request. Text by the agent, the model or its server is
// quoted as code, in which no Markdown renderer finds links, mentions, images or HTML.
func (w work) request() string {
	var b strings.Builder
	if task := w.task.String(); task != "" {
		fmt.Fprintf(&b, "## Task\n\n%s\n", markdown.Block("text", task))
	}
	b.WriteString("## Changes\n\n")
	for _, f := range folders(w.set.Changes) {
		name := f.plainName()
		if f.more == 0 && f.name != "" {
			name = span(f.name + "/")
		}
		fmt.Fprintf(&b, "- %s: %s\n", name, f.count())
	}
	w.listFiles(&b)
	w.listVerifications(&b)
	w.describeOrigin(&b)
	w.listRefusals(&b)
	w.quoteCommits(&b)
	return b.String()
}

// listFiles lists the changed files.
func (w work) listFiles(b *strings.Builder) {
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", amount.Of(w.set.Count(), "file"))
	for i, c := range w.set.Changes {
		if i == maxNamed {
			fmt.Fprintf(b, "- and %d more\n", len(w.set.Changes)-i)
			break
		}
		what := string(c.Kind)
		if c.OldPath != "" {
			what += " from " + span(c.OldPath.Raw())
		}
		if c.Folder != nil {
			fmt.Fprintf(b, "- %s: %s\n", span(c.Path.Raw()), c.Folded())
			continue
		}
		fmt.Fprintf(b, "- %s: %s, +%d -%d\n", span(c.Path.Raw()), what, c.Added, c.Deleted)
	}
	b.WriteString("\n</details>\n\n")
}

// listVerifications lists the verifications of the work.
func (w work) listVerifications(b *strings.Builder) {
	b.WriteString("## Verification\n\n")
	if len(w.verified) == 0 {
		b.WriteString("None was run.\n\n")
		return
	}
	for _, v := range w.verified {
		fmt.Fprintf(b, "- %s %s, in a sandbox without a network\n", span(v.Command), outcome(&v))
	}
	b.WriteString("\n")
}

// describeOrigin describes the agent and the model.
func (w work) describeOrigin(b *strings.Builder) {
	b.WriteString("## How it was made\n\n")
	fmt.Fprintf(b, "- agent: %s, in the aibox session %s\n", span(w.Agent), span(string(w.ID)))
	if w.Model != "" {
		fmt.Fprintf(b, "- model: %s\n", span(w.Model))
	}
	fmt.Fprintf(b, "- network: %s\n", span(w.Network))
	result := w.State.Result
	if result == nil {
		b.WriteString("\n")
		return
	}
	took := time.Duration(result.Seconds * float64(time.Second)).Round(time.Second)
	if result.Tokens.Lost {
		fmt.Fprintf(b, "- time: %s; tokens: unknown\n", took)
	} else {
		fmt.Fprintf(b, "- time: %s; tokens: %d in, %d out\n", took, result.Tokens.Input, result.Tokens.Output)
	}
	if result.Fault != nil {
		fmt.Fprintf(b, "- the session did not end well: %s\n", span(result.Fault.Message))
	}
	b.WriteString("\n")
}

// listRefusals lists the refused connections.
func (w work) listRefusals(b *strings.Builder) {
	if w.State.Result == nil || len(w.State.Result.Refused) == 0 {
		return
	}
	b.WriteString("## Refused by the network\n\n")
	for _, r := range w.State.Result.Refused {
		fmt.Fprintf(b, "- %s %s: %d× (%s)\n", span(r.What), span(r.Target), r.Times, span(r.Reason))
	}
	b.WriteString("\n")
}

// quoteCommits quotes the subjects of the agent's own commits.
func (w work) quoteCommits(b *strings.Builder) {
	if w.State.Result == nil || len(w.State.Result.Commits) == 0 {
		return
	}
	lines := make([]string, 0, 20)
	for i, subject := range w.State.Result.Commits {
		if i == cap(lines) {
			lines = append(lines, fmt.Sprintf("… and %d more", len(w.State.Result.Commits)-i))
			break
		}
		lines = append(lines, shorten(subject))
	}
	fmt.Fprintf(b, "## The agent's own commits\n\nIn the agent's words, as data:\n\n%s\n", markdown.Block("text", strings.Join(lines, "\n")))
}

// shorten returns text as one safe line of limited length, without secrets.
func shorten(text string) string {
	text, _ = secrets.Redact(text)
	line := []rune(termtext.Escape(text))
	if len(line) > 200 {
		line = append(line[:199], '…')
	}
	return string(line)
}

// span returns text as a code span of one safe line.
func span(text string) string { return markdown.Span(shorten(text)) }
