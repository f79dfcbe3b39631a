package code

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"aibox/internal/lazyregexp"
	"aibox/session"
)

// checkTime is the time limit for parsing code.
const checkTime = 30 * time.Second

// Finding is something in code that a caller may want to know. It is only advice, because
// code can avoid findings in many ways. Code is isolated by its sandbox.
type Finding struct {
	Rule    string `json:"rule"`    // syntax, dynamic-code, process, network, native or deserialize
	Message string `json:"message"` // may contain parts of the code: escape
	Line    int    `json:"line"`    // from 1; 0 if unknown
	Column  int    `json:"column"`  // from 1; 0 if unknown
}

// RefusedError reports the findings for which code is refused.
type RefusedError struct {
	Findings []Finding
}

func (e *RefusedError) Error() string {
	first := e.Findings[0]
	text := fmt.Sprintf("line %d: %s: %.200q", first.Line, first.Rule, first.Message)
	if more := len(e.Findings) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// Check parses code with the parser of its language, in the sandbox, and returns the
// findings. For code with a syntax error it returns only that.
func (r *Runner) Check(ctx context.Context, id session.ID, l Language, code string) ([]Finding, error) {
	x := &execution{processes: r.processes, session: id, nonce: newNonce(), mode: modeCheck, language: l, timeout: checkTime, limit: 64 << 10}
	result, err := x.runAlone(ctx, code, Place{})
	if err != nil {
		return nil, err
	}
	var answer driverAnswer
	if !x.answers[0].done || json.Unmarshal(x.answers[0].answer, &answer) != nil {
		return []Finding{{Rule: "syntax", Message: fmt.Sprintf("the code cannot be parsed (%s): %.500s", result.Status, result.Stderr.Bytes)}}, nil //nolint:nilerr // the finding reports it
	}
	if l != Bash {
		return answer.Findings, nil
	}
	if answer.Exit != nil && *answer.Exit != 0 {
		return []Finding{bashSyntax(string(result.Stderr.Bytes))}, nil
	}
	return bashFindings(code), nil
}

var bashError = lazyregexp.New(`line (\d+): (.*)`)

// bashSyntax returns the finding for the output of `bash -n`.
func bashSyntax(printed string) Finding {
	f := Finding{Rule: "syntax", Message: strings.TrimSpace(printed)}
	if match := bashError.FindStringSubmatch(printed); match != nil {
		_, _ = fmt.Sscan(match[1], &f.Line)
		f.Message = match[2]
	}
	return f
}

// bashRules find words. Bash has no parser that reports more than syntax errors.
var bashRules = []struct {
	rule  string
	words *lazyregexp.Regexp
}{
	{"dynamic-code", lazyregexp.New(`(?:^|[\s;&|(])(eval|source|\.)\s`)},
	{"network", lazyregexp.New(`(?:^|[\s;&|(])(curl|wget|nc|ncat|socat|ssh|scp|sftp|rsync|telnet|ftp)\b|(/dev/(?:tcp|udp)/)`)},
}

// bashFindings returns findings for the words in a script that match the rules.
func bashFindings(code string) []Finding {
	var found []Finding
	for i, line := range strings.Split(code, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, rule := range bashRules {
			if at := rule.words.FindStringSubmatchIndex(line); at != nil && len(found) < 100 {
				from, to := at[2], at[3]
				if from < 0 {
					from, to = at[4], at[5]
				}
				found = append(found, Finding{Rule: rule.rule, Message: "uses " + line[from:to], Line: i + 1, Column: from + 1})
			}
		}
	}
	return found
}
