package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkFilter reads a long conversation, and one with a large picture.
func BenchmarkFilter(b *testing.B) {
	var turns []string
	for i := range 200 {
		text, _ := json.Marshal(strings.Repeat("some \"text\" of a file\n", 100))
		turns = append(turns, fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"exec_command","arguments":"{\"cmd\":\"cat a\"}"},{"type":"function_call_output","call_id":"call_%d","output":%s}`, i, i, i, text))
	}
	for name, body := range map[string]string{
		"conversation": `{"model":"m","input":[` + strings.Join(turns, ",") + `]}`,
		"picture":      `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 1<<17) + `"}]}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Filter(Responses, []byte(body), policyOfTests()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
