package markdown

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzTextStaysInItsFence(f *testing.F) {
	f.Add("plain\n")
	f.Add("```\nout\n```")
	f.Add("````` \x00\xff\r\n`")
	f.Fuzz(func(t *testing.T, text string) {
		block := Block("diff", text)
		if !utf8.ValidString(block) || strings.ContainsRune(block, 0) {
			t.Errorf("%q is not valid text", block)
		}
		fence, body, _ := strings.Cut(block, "diff\n")
		body, ok := strings.CutSuffix(body, "\n"+fence+"\n")
		if !ok || strings.Trim(fence, "`") != "" || strings.Contains(body, fence) {
			t.Errorf("%q ends before its last line", block)
		}
	})
}
