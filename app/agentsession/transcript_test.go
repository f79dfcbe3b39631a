package agentsession

import (
	"strings"
	"testing"

	"aibox/agents/conversation"
	"aibox/session"
	"aibox/session/output"
)

// An agent prints several messages in one line, which together are longer than a part.
func TestATranscriptContinuesAfterALineThatIsLongerThanAPart(t *testing.T) {
	block := func(text string) string { return `{"type":"text","text":"` + text + `"}` }
	line := func(blocks ...string) string {
		return `{"type":"assistant","message":{"content":[` + strings.Join(blocks, ",") + "]}}\n"
	}
	before := line(block("first"))
	long := line(block(strings.Repeat("a", 30)), block(strings.Repeat("b", 30)), block(strings.Repeat("c", 30)))
	record := before + long + line(block("last"))
	of := session.Session{}
	of.State.Output.Format = conversation.Claude
	var text string
	from, cut := int64(0), false
	for parts := 0; from < int64(len(record)); parts++ {
		if parts == 3 {
			t.Fatalf("after %d parts, the next one begins at byte %d of %d again", parts, from, len(record))
		}
		p := transcriptPart{decoder: session.NewConversation(&of), most: 40}
		p.Next = int64(len(record))
		p.add(p.decoder.Add(output.Chunk{Offset: from, Data: []byte(record[from:])}))
		text, from, cut = text+p.Text, p.Next, cut || p.Cut
	}
	for _, want := range []string{"first\n", strings.Repeat("a", 30), "bbb", "last\n"} {
		if strings.Count(text, want) == 0 || want != "bbb" && strings.Count(text, want) != 1 || !cut {
			t.Errorf("%q is not there once, cut %v: %q", want, cut, text)
		}
	}
}
