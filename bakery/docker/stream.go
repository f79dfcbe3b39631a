package docker

import (
	"encoding/json"
	"errors"
	"io"
)

// message is one line of the daemon's answer to a pull, an import or a build.
type message struct {
	ID             string          `json:"id"`
	Status         string          `json:"status"`
	Error          string          `json:"error"`
	Aux            json.RawMessage `json:"aux"`
	ProgressDetail struct {
		Total int64 `json:"total"`
	} `json:"progressDetail"`
}

// messages reads body to its end. An error that the daemon reports inside is
// returned after all lines were read.
func messages(body io.Reader, each func(message)) error {
	var failed error
	for dec := json.NewDecoder(body); ; {
		var m message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return failed
		} else if err != nil {
			return errors.Join(failed, err)
		}
		if m.Error != "" {
			failed = errors.New(m.Error)
			continue
		}
		each(m)
	}
}
