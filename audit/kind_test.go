package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

func TestEveryTypeHasOneKind(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "type.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[Type]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			declared[Type(text)] = true
		}
		return true
	})
	seen := map[Type]bool{}
	for _, kind := range append(Types(), Types(KindAPI)...) {
		if seen[kind] || !declared[kind] {
			t.Errorf("%s occurs twice, or is no type", kind)
		}
		seen[kind] = true
	}
	for kind := range declared {
		if !seen[kind] {
			t.Errorf("%s has no kind", kind)
		}
	}
}

func TestEventsAreSelectedByKindAndType(t *testing.T) {
	old := Event{Type: AccessRefused, Data: []byte(`{"what":"name","target":"x"}`)}
	packet := Event{Type: AccessRefused, Data: []byte(`{"what":"tcp","target":"x"}`)}
	for _, c := range []struct {
		words []string
		event Event
		want  bool
	}{
		{nil, Event{Type: "later.version"}, true},
		{[]string{"dns"}, Event{Type: DNSRefused}, true},
		{[]string{"dns"}, old, true},
		{[]string{"egress"}, old, false},
		{[]string{" Egress", "review"}, packet, true},
		{[]string{"egress.refused"}, Event{Type: EgressRefused}, true},
		{[]string{"egress.refused"}, Event{Type: EgressAllowed}, false},
		{[]string{"egress"}, Event{Type: "later.version"}, false},
	} {
		s, unknown := ParseSelection(c.words)
		if unknown != "" || s.Match(c.event) != c.want {
			t.Errorf("%q on %s %s: %v, %q", c.words, c.event.Type, c.event.Data, !c.want, unknown)
		}
	}
	for _, word := range []string{"dsn", "api", "api.called", "log.continued"} { // the last three are in no session's log
		if _, unknown := ParseSelection([]string{"dns", word}); unknown != word {
			t.Errorf("the unknown word is %q, not %q", unknown, word)
		}
	}
}

func TestTypesOfEarlierVersionsAreOfTheSameKind(t *testing.T) {
	for earlier, today := range earlierTypes {
		if got := (Event{Type: earlier}).Kind(); got != KindLifecycle || earlier.Today() != today || today.Today() != today {
			t.Errorf("%s is of the kind %q and is called %s today", earlier, got, earlier.Today())
		}
	}
}
