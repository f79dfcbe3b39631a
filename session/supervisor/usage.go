package supervisor

import (
	"sync"
	"time"

	"aibox/internal/fault"
	"aibox/runtime/limit"
	"aibox/session"
)

// usageMeter measures the sandbox's use of resources when a client asks for it, at most
// once every liveTime.
type usageMeter struct {
	mu     sync.Mutex
	last   limit.Usage
	at     time.Time // time of last; zero before the first measurement
	result session.Usage
}

const (
	// usageAge is the age at which a measurement is too old to be shown or to be the basis for
	// the current use of processors. Active clients measure more often.
	usageAge = 30 * time.Second
	// usageSpan is the time between the two measurements that the first answer needs.
	usageSpan = 200 * time.Millisecond
)

// measure returns the sandbox's use. The use of processors is an average since the last
// measurement, or over a short time if there is none.
func (m *usageMeter) measure(measure func() (limit.Usage, error)) (session.Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	age := time.Since(m.at)
	if age < liveTime && !m.result.Measured.IsZero() {
		return m.result, nil
	}
	if age > usageAge {
		first, err := measure()
		if err != nil {
			return session.Usage{}, err
		}
		m.last, m.at = first, time.Now()
		time.Sleep(usageSpan)
	}
	now, err := measure()
	if err != nil {
		return session.Usage{}, err
	}
	at := time.Now()
	m.result = session.Usage{
		Memory: now.Memory, CPUSeconds: now.CPU.Seconds(), Processes: now.Processes, Disk: now.Disk,
		CPU:      max(0, (now.CPU-m.last.CPU).Seconds()/at.Sub(m.at).Seconds()*100),
		Measured: at.UTC(),
	}
	m.last, m.at = now, at
	return m.result, nil
}

// recent returns the last result if it can still be shown.
func (m *usageMeter) recent() session.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.result.Measured) > usageAge {
		return session.Usage{}
	}
	return m.result
}

// Usage measures the sandbox's use of resources.
func (s *supervisor) Usage() (any, error) {
	s.mu.Lock()
	meter := s.meter
	s.mu.Unlock()
	if meter == nil {
		return nil, fault.New(fault.Conflict, "the session has no running sandbox")
	}
	used, err := s.usage.measure(meter.Usage)
	if err != nil {
		return nil, fault.New(fault.Conflict, "the sandbox cannot be measured: %w", err)
	}
	used.MemoryLimit, used.CPULimit = s.resourceLimits().Memory, s.resourceLimits().CPUs
	return used, nil
}
