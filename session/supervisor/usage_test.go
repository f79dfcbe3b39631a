package supervisor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"aibox/runtime/limit"
)

// burning is a sandbox that keeps n processors busy.
func burning(n int, measured *int) func() (limit.Usage, error) {
	began := time.Now()
	return func() (limit.Usage, error) {
		*measured++
		return limit.Usage{Memory: 7, Processes: 3, Disk: 11, CPU: time.Duration(n) * time.Since(began)}, nil
	}
}

func TestUseOfProcessorsIsTheCurrentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m usageMeter
		measured := 0
		used, err := m.measure(burning(2, &measured))
		if err != nil || used.CPU != 200 || used.Memory != 7 || used.Processes != 3 || used.Disk != 11 || used.Measured.IsZero() {
			t.Errorf("%+v, %v", used, err)
		}
	})
}

func TestManyClientsCauseOneMeasurement(t *testing.T) {
	var m usageMeter
	measured := 0
	measure := burning(1, &measured)
	for range 10 {
		if _, err := m.measure(measure); err != nil {
			t.Fatal(err)
		}
	}
	if measured != 2 {
		t.Errorf("it was measured %d times", measured)
	}
}

func TestAnOldMeasurementIsNotShown(t *testing.T) {
	var m usageMeter
	if !m.recent().Measured.IsZero() {
		t.Error("there is a measurement")
	}
	measured := 0
	if _, err := m.measure(burning(1, &measured)); err != nil || m.recent().Memory != 7 {
		t.Error(m.recent(), err)
	}
	m.result.Measured = m.result.Measured.Add(-2 * usageAge)
	if m.recent().Memory != 0 {
		t.Error("an old measurement is shown")
	}
}

func TestASandboxThatCannotBeMeasuredIsAnError(t *testing.T) {
	var m usageMeter
	if _, err := m.measure(func() (limit.Usage, error) { return limit.Usage{}, errors.New("gone") }); err == nil {
		t.Error("it was measured")
	}
}
