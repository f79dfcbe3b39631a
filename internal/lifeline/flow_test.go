package lifeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// receiving runs Receive of a connection in the background and returns its data.
func receiving(c *Conn) (got <-chan Data, ended <-chan error) {
	data, end := make(chan Data, 1000), make(chan error, 1)
	go func() {
		for {
			f, err := c.Receive()
			if err != nil {
				end <- err
				return
			}
			if f.Type == TypeData {
				d, _ := ParseData(f.Payload)
				d.Bytes = bytes.Clone(d.Bytes)
				data <- d
			}
		}
	}()
	return data, end
}

func TestFlowsDoNotWaitForEachOther(t *testing.T) {
	a, b := pair(t)
	stuck, free := a.NewFlow(), a.NewFlow()
	b.OpenFlow(stuck.ID)
	theirs := b.OpenFlow(free.ID)
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() { sent <- stuck.Send(ctx, StreamStdin, make([]byte, 2*inputWindow)) }()
	got, _ := receiving(b)
	receiving(a)
	for n := 0; n < inputWindow; {
		n += len((<-got).Bytes)
	}
	go func() { _ = free.Send(t.Context(), StreamStdin, make([]byte, 4*inputWindow)) }()
	for n := 0; n < 4*inputWindow; {
		d := <-got
		if d.Flow != free.ID {
			t.Fatal("more than the window was sent")
		}
		if err := theirs.Acknowledge(len(d.Bytes)); err != nil {
			t.Fatal(err)
		}
		n += len(d.Bytes)
	}
	cancel()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Errorf("the flow that nobody reads gave %v", err)
	}
}

// restoring returns the result of Restore with the flows, whose init answers with last.
func restoring(t *testing.T, last uint32, flows ...uint32) (*Conn, map[uint32]*Flow, error) {
	t.Helper()
	a, b := pair(t)
	go func() {
		_, _ = b.Receive()
		_ = b.SendMessage(TypeRestored, Restored{Flows: flows, Last: last})
	}()
	_, live, err := a.Restore(t.Context(), Restore{}, flows)
	return a, live, err
}

// Otherwise a process could get the flow of another one.
func TestANewFlowNeverHasTheIDOfAnOpenOne(t *testing.T) {
	if _, _, err := restoring(t, math.MaxUint32, 1, 2); !errors.Is(err, ErrProtocol) {
		t.Errorf("a last flow before which the IDs begin again: %v", err)
	}
	a, live, err := restoring(t, 2, 1, 2)
	if err != nil || len(live) != 2 {
		t.Fatalf("%v, %v", live, err)
	}
	if flow := a.NewFlow(); flow.ID != 3 {
		t.Errorf("the flow after the last one has the ID %d", flow.ID)
	}
	a.lastFlow = math.MaxUint32
	if flow := a.NewFlow(); live[flow.ID] != nil {
		t.Errorf("the flow %d is open", flow.ID)
	}
	if flow := a.NewFlow(); live[flow.ID] != nil {
		t.Errorf("the flow %d is open", flow.ID)
	}
}

func TestClosingAFlowEndsItsSender(t *testing.T) {
	a, b := pair(t)
	flow := a.NewFlow()
	receiving(b) // drops the data of an unknown flow
	sent := make(chan error, 1)
	go func() { sent <- flow.Send(t.Context(), StreamStdin, make([]byte, 2*inputWindow)) }()
	flow.Close()
	if err := <-sent; err == nil {
		t.Error("all was sent")
	}
}

// data encodes a TypeData frame.
func data(flow uint32, size int) Frame {
	return Frame{TypeData, append(binary.BigEndian.AppendUint32(nil, flow), make([]byte, 1+size)...)}
}

func TestMoreDataThanTheWindowEndsTheConnection(t *testing.T) {
	a, b := pair(t)
	flow := a.NewFlow()
	_, ended := receiving(a)
	for range OutputWindow/MaxData + 1 {
		_ = b.Send(data(flow.ID, MaxData))
	}
	if err := <-ended; !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
}

func TestBrokenFramesOfAFlowEndTheConnection(t *testing.T) {
	for name, f := range map[string]Frame{
		"data without bytes":       {TypeData, []byte{0, 0, 0, 1, 1}},
		"data without a flow":      {TypeData, []byte{1}},
		"an end without a flow":    {TypeDataEnd, nil},
		"an end of two":            {TypeDataEnd, make([]byte, 8)},
		"half an acknowledgment":   {TypeDataAck, make([]byte, 4)},
		"a false acknowledgment":   {TypeDataAck, []byte{0, 0, 0, 1, 0, 0, 0, 1}},
		"an acknowledgment of all": {TypeDataAck, []byte{0, 0, 0, 1, 255, 255, 255, 255}},
	} {
		a, b := pair(t)
		a.NewFlow()
		_, ended := receiving(a)
		_ = b.Send(f)
		if err := <-ended; !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFramesOfAClosedFlowAreDropped(t *testing.T) {
	a, b := pair(t)
	closed, open := a.NewFlow(), a.NewFlow()
	closed.Close()
	got, _ := receiving(a)
	for _, f := range []Frame{data(closed.ID, 5), {TypeDataAck, []byte{0, 0, 0, byte(closed.ID), 0, 0, 0, 9}}, {TypeDataEnd, []byte{0, 0, 0, byte(closed.ID)}}, data(77, 1), data(open.ID, 3)} {
		if err := b.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	if d := <-got; d.Flow != open.ID || len(d.Bytes) != 3 {
		t.Errorf("got %d bytes of flow %d", len(d.Bytes), d.Flow)
	}
}

// FuzzFlow feeds hostile frames to a supervisor with two open flows: it must neither panic
// nor return more than a window of either.
func FuzzFlow(f *testing.F) {
	f.Add([]byte("\x31\x00\x00\x00\x06\x00\x00\x00\x01\x01x"))
	f.Add([]byte("\x32\x00\x00\x00\x04\x00\x00\x00\x01\x33\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		c := &Conn{flows: map[uint32]*Flow{}, stdin: newWindow(windowSize)}
		c.NewFlow()
		c.NewFlow()
		in, total := bytes.NewReader(wire), map[uint32]int{}
		for {
			frame, err := readFrame(in, nil)
			if err != nil {
				return
			}
			returned, err := c.admit(frame)
			if err != nil {
				return
			}
			if returned && frame.Type == TypeData {
				d, err := ParseData(frame.Payload)
				if err != nil || c.flow(d.Flow) == nil {
					t.Fatalf("returned data of flow %d, %v", d.Flow, err)
				}
				if total[d.Flow] += len(d.Bytes); total[d.Flow] > OutputWindow {
					t.Fatalf("returned %d bytes", total[d.Flow])
				}
			}
		}
	})
}

func TestMuchDataArrivesInOrderAndInFramesOfTheirSize(t *testing.T) {
	supervisor, init := pair(t)
	flow := supervisor.NewFlow()
	theirs := init.OpenFlow(flow.ID)
	sent := make([]byte, 3*OutputWindow+12_345)
	for i := range sent {
		sent[i] = byte(i >> 8)
	}
	receiving(init) // the acknowledgments
	go func() { _ = theirs.Send(t.Context(), StreamStdout, sent) }()
	got, _ := receiving(supervisor)
	var all []byte
	for len(all) < len(sent) {
		d := <-got
		if d.Flow != flow.ID || d.Stream != StreamStdout || len(d.Bytes) > MaxData {
			t.Fatalf("%d bytes of stream %d of flow %d", len(d.Bytes), d.Stream, d.Flow)
		}
		all = append(all, d.Bytes...)
		if err := flow.Acknowledge(len(d.Bytes)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(all, sent) {
		t.Error("other bytes arrived")
	}
}

// Output has a larger window than input, on both sides and also after a restore.
func TestEachDirectionHasItsWindow(t *testing.T) {
	supervisor, init := pair(t)
	started := supervisor.NewFlow()
	restored := supervisor.reopenFlow(started.ID + 1)
	output, _ := receiving(supervisor)
	input, _ := receiving(init)
	for _, ours := range []*Flow{started, restored} {
		theirs := init.OpenFlow(ours.ID)
		for name, side := range map[string]struct {
			sender *Flow
			got    <-chan Data
			size   int
		}{"input": {ours, input, inputWindow}, "output": {theirs, output, OutputWindow}} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- side.sender.Send(ctx, StreamStdout, make([]byte, OutputWindow+1)) }()
			arrived := 0
			for arrived < side.size {
				arrived += len((<-side.got).Bytes)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) || arrived != side.size || side.sender.out.free() != 0 {
				t.Errorf("%s of flow %d: %d bytes, %v", name, ours.ID, arrived, err)
			}
		}
	}
}
