package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Encode writes the change set as JSON, with each change on a separate line.
func (cs *ChangeSet) Encode(w io.Writer) error {
	const changes = `"changes":null`
	head := *cs
	head.Changes = nil
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(data, []byte(changes))
	_, err = fmt.Fprintf(w, "%s\"changes\":[", before)
	lead := "\n"
	for i := range cs.Changes {
		line, lineErr := json.Marshal(&cs.Changes[i])
		_, writeErr := fmt.Fprintf(w, "%s%s", lead, line)
		if err = errors.Join(err, lineErr, writeErr); err != nil {
			return err
		}
		lead = ",\n"
	}
	_, endErr := fmt.Fprintf(w, "\n]%s\n", after)
	return errors.Join(err, endErr)
}
