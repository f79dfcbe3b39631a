package server

import (
	"fmt"
	"regexp"
	"strings"
)

// jsonError matches the text of an error of protojson: its place and the problem.
// Its spaces can be some that do not break.
var jsonError = regexp.MustCompile(`^proto:[\s\x{a0}]*(?:syntax error )?(?:\(line (\d+):(\d+)\):[\s\x{a0}]*)?((?s).*)$`)

// readable returns the text of an error of connect as a sentence, and its hints. It keeps what the
// error says: names, values and places.
func readable(text string) (sentence string, hints []string) {
	text = strings.TrimPrefix(text, "unmarshal message: ")
	found := jsonError.FindStringSubmatch(text)
	if found == nil {
		return text, nil
	}
	problem, place := found[3], ""
	if found[1] != "" {
		place = fmt.Sprintf(" (line %s, column %s)", found[1], found[2])
	}
	if name, ok := strings.CutPrefix(problem, "unknown field "); ok {
		return "this server does not know the field " + name + " of the request" + place, []string{"GET /openapi.yaml describes what there is"}
	}
	return "the JSON of the request is wrong: " + problem + place, nil
}
