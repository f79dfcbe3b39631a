package e2b

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"aibox/api/e2b/filesystempb"
	"aibox/api/e2b/processpb"
)

// Reference writes a table of the calls that the server answers or refuses, in Markdown. All
// others get the status 404.
func Reference(out io.Writer) error {
	rows := map[string]string{}
	var s Server
	for _, patterns := range [][]string{slices.Collect(maps.Keys(s.calls())), slices.Collect(maps.Keys(s.insideCalls())), methods()} {
		for _, pattern := range patterns {
			rows[pattern] = "answered"
		}
	}
	for _, refused := range []map[string]string{refusals, insideRefusals} {
		for pattern, reason := range refused {
			rows[pattern] = "501: " + reason
		}
	}
	byPath := func(a, b string) int {
		return cmp.Or(cmp.Compare(a[strings.Index(a, "/"):], b[strings.Index(b, "/"):]), cmp.Compare(a, b))
	}
	text := "| call | answer |\n| --- | --- |\n"
	for _, pattern := range slices.SortedFunc(maps.Keys(rows), byPath) {
		name := pattern
		if strings.HasSuffix(pattern, "/") {
			name += "…"
		}
		text += fmt.Sprintf("| `%s` | %s |\n", name, rows[pattern])
	}
	_, err := io.WriteString(out, text)
	return err
}

// methods returns the patterns of the RPCs inside a sandbox.
func methods() (patterns []string) {
	for _, file := range []protoreflect.FileDescriptor{processpb.File_e2b_processpb_process_proto, filesystempb.File_e2b_filesystempb_filesystem_proto} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for n := range service.Methods().Len() {
				patterns = append(patterns, fmt.Sprintf("POST /%s/%s", service.FullName(), service.Methods().Get(n).Name()))
			}
		}
	}
	return patterns
}
