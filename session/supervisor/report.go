package supervisor

import (
	"encoding/json"
	"io"
	"time"

	"aibox/internal/probe"
	"aibox/session"
)

// reporter writes messages to the process that launched this supervisor. After the end of
// that process, messages are dropped and the session continues.
type reporter struct{ out io.WriteCloser }

func (r reporter) send(m session.LaunchMessage) {
	line, err := json.Marshal(m)
	if err == nil {
		_, _ = r.out.Write(append(line, '\n'))
	}
}

// step reports the start of a stage and returns the function that reports its
// end.
func (r reporter) step(name string) func(detail string) {
	begin := time.Now()
	r.send(session.LaunchMessage{Step: &session.Step{Name: name}})
	return func(detail string) {
		r.send(session.LaunchMessage{Step: &session.Step{Name: name, Done: true, Detail: detail, Took: time.Since(begin)}})
	}
}

// progress reports details of a running stage.
func (r reporter) progress(name, detail string) {
	r.send(session.LaunchMessage{Step: &session.Step{Name: name, Detail: detail}})
}

// warn reports a warning before the agent runs.
func (r reporter) warn(name, detail string) {
	r.send(session.LaunchMessage{Step: &session.Step{Name: name, Done: true, Warning: true, Detail: detail}})
}

// probesStage is the stage in which the probes run.
const probesStage = "probes"

// probe reports that a probe has begun, or has ended with the given result.
func (r reporter) probe(result probe.Result, ended bool) {
	r.send(session.LaunchMessage{Step: &session.Step{Name: probesStage, Done: ended, Probe: &result}})
}
