package session

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
)

// request returns the text of a pull request. Text by the agent, the model or its server
// is quoted as code, which no Markdown renderer takes for a link, a mention, an image or
// HTML.
func (s Session) request(set *review.ChangeSet, verified []Verification) string {
	var b strings.Builder
	if task := s.task(); task != "" {
		fmt.Fprintf(&b, "## Task\n\n%s\n", fenced("text", task))
	}
	b.WriteString("## Changes\n\n")
	for _, f := range folders(set.Changes) {
		name := f.plainName()
		if f.more == 0 && f.name != "" {
			name = span(f.name + "/")
		}
		fmt.Fprintf(&b, "- %s: %s\n", name, f.count())
	}
	s.names(&b, set)
	verification(&b, verified)
	s.made(&b)
	s.refusals(&b)
	s.commits(&b)
	return b.String()
}

// names lists the files.
func (s Session) names(b *strings.Builder, set *review.ChangeSet) {
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", amount.Of(set.Count(), "file"))
	for i, c := range set.Changes {
		if i == maxNamed {
			fmt.Fprintf(b, "- and %d more\n", len(set.Changes)-i)
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

// verification lists the verifications of the work.
func verification(b *strings.Builder, verified []Verification) {
	b.WriteString("## Verification\n\n")
	if len(verified) == 0 {
		b.WriteString("None was run.\n\n")
		return
	}
	for _, v := range verified {
		fmt.Fprintf(b, "- %s %s, in a sandbox without a network\n", span(v.Command), v.outcome())
	}
	b.WriteString("\n")
}

// made describes the agent and the model.
func (s Session) made(b *strings.Builder) {
	b.WriteString("## How it was made\n\n")
	fmt.Fprintf(b, "- agent: %s, in the aibox session %s\n", span(s.Agent), span(string(s.ID)))
	if s.Model != "" {
		fmt.Fprintf(b, "- model: %s\n", span(s.Model))
	}
	fmt.Fprintf(b, "- network: %s\n", span(s.Network))
	result := s.State.Result
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

// refusals lists the network's refusals.
func (s Session) refusals(b *strings.Builder) {
	if s.State.Result == nil || len(s.State.Result.Refused) == 0 {
		return
	}
	b.WriteString("## Refused by the network\n\n")
	for _, r := range s.State.Result.Refused {
		fmt.Fprintf(b, "- %s %s: %d× (%s)\n", span(r.What), span(r.Target), r.Times, span(r.Reason))
	}
	b.WriteString("\n")
}

// commits quotes the subjects of the agent's own commits.
func (s Session) commits(b *strings.Builder) {
	if s.State.Result == nil || len(s.State.Result.Commits) == 0 {
		return
	}
	lines := make([]string, 0, 20)
	for i, subject := range s.State.Result.Commits {
		if i == cap(lines) {
			lines = append(lines, fmt.Sprintf("… and %d more", len(s.State.Result.Commits)-i))
			break
		}
		lines = append(lines, shorten(subject))
	}
	fmt.Fprintf(b, "## The agent's own commits\n\nIn the agent's words, as data:\n\n%s\n", fenced("text", strings.Join(lines, "\n")))
}

// shorten returns text as one safe line of limited length.
func shorten(text string) string {
	line := []rune(termtext.Escape(text))
	if len(line) > 200 {
		line = append(line[:199], '…')
	}
	return string(line)
}

var ticks = regexp.MustCompile("`+")

// fence returns a run of backticks that does not occur in text.
func fence(text string) string {
	longest := 0
	for _, run := range ticks.FindAllString(text, -1) {
		longest = max(longest, len(run))
	}
	return strings.Repeat("`", longest+1)
}

// span returns text as a Markdown code span (CommonMark 0.31, 6.1) of one safe line. The
// spaces inside separate the delimiters from backticks and spaces at the ends of text.
func span(text string) string {
	line := shorten(text)
	if line == "" {
		line = " "
	}
	mark := fence(line)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") || strings.HasPrefix(line, " ") && strings.HasSuffix(line, " ") {
		line = " " + line + " "
	}
	return mark + line + mark
}
