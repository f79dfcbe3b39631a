package schema

import (
	"math"
	"strconv"
)

// outputLimit passes the member that limits the tokens of one choice of the answer, and
// remembers the largest such limit.
type outputLimit struct{}

func (outputLimit) apply(w *walk) (bool, error) {
	return w.number(&w.outputLimit)
}

// choiceCount passes the member that asks for several choices of the answer, and remembers
// the largest such number.
type choiceCount struct{}

func (choiceCount) apply(w *walk) (bool, error) {
	return w.number(&w.choices)
}

// number passes a scalar and raises largest to its value if it is a number above it. Some
// servers also read numbers from strings.
func (w *walk) number(largest *int64) (bool, error) {
	value, err := w.passScalar()
	if value == nil || err != nil {
		return false, err
	}
	text := string(value)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > float64(*largest) {
		*largest = int64(min(n, math.MaxInt32))
	}
	return true, nil
}

// maxOutput returns Result.MaxOutput.
func (w *walk) maxOutput() int64 { return w.outputLimit * w.allChoices() }

// allChoices returns Result.Choices.
func (w *walk) allChoices() int64 { return min(max(1, w.choices)*max(1, w.prompts), math.MaxInt32) }

// prompt is an element of a list of prompts, each of which is answered. Numbers are the tokens of one.
type prompt struct{ rule rule }

func (p prompt) apply(w *walk) (bool, error) {
	if kind := w.dec.PeekKind(); kind == '"' || kind == '[' {
		w.prompts++
	}
	return p.rule.apply(w)
}
