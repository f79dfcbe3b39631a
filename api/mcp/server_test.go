package mcp

import (
	"io"
	"strings"
	"testing"

	"aibox/internal/fault"
)

type discarded struct{ io.Writer }

func (discarded) Close() error { return nil }

func TestAMessageThatIsNotJSONIsAnErrorOfTheClient(t *testing.T) {
	err := Serve(t.Context(), Config{}, io.NopCloser(strings.NewReader("hello\n")), discarded{io.Discard})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "is not JSON") || len(fault.Hints(err)) == 0 {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
	if err := Serve(t.Context(), Config{}, io.NopCloser(strings.NewReader("")), discarded{io.Discard}); err != nil {
		t.Errorf("the end of the input: %v", err)
	}
}
