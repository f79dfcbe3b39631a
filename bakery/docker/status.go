package docker

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"aibox/bakery"
)

// BuildKit's progress is a protobuf message, moby.buildkit.v1.StatusResponse of
// https://github.com/moby/buildkit/blob/v0.34.2/api/services/control/control.proto.
// Its generated code would bring gRPC and 7 MB along for these fields:
const (
	statusVertexes protowire.Number = 1
	statusLogs     protowire.Number = 3

	vertexDigest    protowire.Number = 1
	vertexName      protowire.Number = 3
	vertexCached    protowire.Number = 4
	vertexStarted   protowire.Number = 5
	vertexCompleted protowire.Number = 6
	vertexError     protowire.Number = 7

	logVertex protowire.Number = 1
	logMsg    protowire.Number = 4

	timeSeconds protowire.Number = 1
	timeNanos   protowire.Number = 2
)

// decodeStatus reads a StatusResponse. Unknown fields are skipped, as protobuf requires.
// The update shares no memory with data.
func decodeStatus(data []byte) (bakery.Update, error) {
	var u bakery.Update
	err := fields(data, func(n protowire.Number, _ uint64, value []byte) error {
		switch n {
		case statusVertexes:
			step, err := decodeVertex(value)
			u.Steps = append(u.Steps, step)
			return err
		case statusLogs:
			log, err := decodeLog(value)
			u.Logs = append(u.Logs, log)
			return err
		}
		return nil
	})
	return u, err
}

func decodeVertex(data []byte) (bakery.Step, error) {
	var s bakery.Step
	err := fields(data, func(n protowire.Number, number uint64, value []byte) (err error) {
		switch n {
		case vertexDigest:
			s.ID = string(value)
		case vertexName:
			s.Name = string(value)
		case vertexCached:
			s.Cached = number != 0
		case vertexStarted:
			s.Started, err = decodeTime(value)
		case vertexCompleted:
			s.Ended, err = decodeTime(value)
		case vertexError:
			s.Error = string(value)
		}
		return err
	})
	return s, err
}

func decodeLog(data []byte) (bakery.Log, error) {
	var l bakery.Log
	err := fields(data, func(n protowire.Number, _ uint64, value []byte) error {
		switch n {
		case logVertex:
			l.Step = string(value)
		case logMsg:
			l.Data = append([]byte(nil), value...)
		}
		return nil
	})
	return l, err
}

func decodeTime(data []byte) (time.Time, error) {
	var seconds, nanos int64
	err := fields(data, func(n protowire.Number, number uint64, _ []byte) error {
		switch n {
		case timeSeconds:
			seconds = int64(number)
		case timeNanos:
			nanos = int64(number)
		}
		return nil
	})
	return time.Unix(seconds, nanos), err
}

// fields calls each with every field of a message: number for a varint, value
// for bytes.
func fields(data []byte, each func(n protowire.Number, number uint64, value []byte) error) error {
	for len(data) > 0 {
		n, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		var number uint64
		var value []byte
		switch kind {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(data)
		default:
			size = protowire.ConsumeFieldValue(n, kind, data)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		if err := each(n, number, value); err != nil {
			return err
		}
	}
	return nil
}
