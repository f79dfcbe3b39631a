package server

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aibox/app/sandbox"
	"aibox/session"
)

// measureTimeout bounds the time to measure all sandboxes for one reading of the metrics.
const measureTimeout = 5 * time.Second

// measuredAtOnce is how many sandboxes are measured at the same time.
const measuredAtOnce = 8

// sandboxCollector measures the sandboxes of the machine's user, and of the agents of that
// user's sessions, when the metrics are read. A sandbox that cannot be measured, because it
// is ending or does not answer in time, has no values in that reading.
type sandboxCollector struct{ cases Sandboxes }

var (
	sandboxLabels = []string{"sandbox", "template"}

	sandboxCount     = prometheus.NewDesc("aibox_sandboxes", "Sandboxes by state.", []string{"state"}, nil)
	sandboxCPU       = prometheus.NewDesc("aibox_sandbox_cpu_seconds_total", "Processor time of a sandbox since its start.", sandboxLabels, nil)
	sandboxMemory    = prometheus.NewDesc("aibox_sandbox_memory_bytes", "Memory of a sandbox.", sandboxLabels, nil)
	sandboxProcesses = prometheus.NewDesc("aibox_sandbox_processes", "Processes of the host that run a sandbox's processes.", sandboxLabels, nil)
	sandboxUpload    = prometheus.NewDesc("aibox_sandbox_upload_bytes_total", "Bytes that a sandbox sent through the egress proxy.", sandboxLabels, nil)
	sandboxDownload  = prometheus.NewDesc("aibox_sandbox_download_bytes_total", "Bytes that a sandbox received through the egress proxy.", sandboxLabels, nil)
	sandboxDisk      = prometheus.NewDesc("aibox_sandbox_disk_bytes", "Bytes of the host's disk that the files of a sandbox take, without volumes.", sandboxLabels, nil)
	sandboxRead      = prometheus.NewDesc("aibox_sandbox_input_tokens_total", "Tokens that models have read for a sandbox.", sandboxLabels, nil)
	sandboxWritten   = prometheus.NewDesc("aibox_sandbox_output_tokens_total", "Tokens that models have written for a sandbox.", sandboxLabels, nil)
	sandboxRefused   = prometheus.NewDesc("aibox_sandbox_refused_accesses_total", "Accesses that the network of a sandbox refused.", sandboxLabels, nil)
)

// countedStates are the states of sandboxes that have more than a record.
var countedStates = []sandbox.State{sandbox.Creating, sandbox.Running, sandbox.Paused, sandbox.Ending}

func (c *sandboxCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		sandboxCount, sandboxCPU, sandboxMemory, sandboxProcesses, sandboxUpload, sandboxDownload, sandboxDisk, sandboxRead, sandboxWritten, sandboxRefused,
	} {
		out <- desc
	}
}

func (c *sandboxCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), measureTimeout)
	defer cancel()
	all, err := c.list(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(sandboxCount, err)
		return
	}
	counts := map[sandbox.State]int{}
	var measuring sync.WaitGroup
	slots := make(chan struct{}, measuredAtOnce)
	for i := range all {
		counts[all[i].State]++
		if all[i].State != sandbox.Running {
			continue
		}
		slots <- struct{}{}
		measuring.Go(func() {
			defer func() { <-slots }()
			c.measure(ctx, &all[i], out)
		})
	}
	measuring.Wait()
	for _, state := range countedStates {
		out <- prometheus.MustNewConstMetric(sandboxCount, prometheus.GaugeValue, float64(counts[state]), string(state))
	}
}

// list returns the sandboxes that have not ended.
func (c *sandboxCollector) list(ctx context.Context) (all []sandbox.Sandbox, err error) {
	for token := ""; ; {
		page, err := c.cases.List(ctx, session.LocalTenant, sandbox.Filter{States: countedStates}, sandbox.MaxPage, token)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Sandboxes...)
		if token = page.Next; token == "" {
			return all, nil
		}
	}
}

// measure sends the values of a running sandbox.
func (c *sandboxCollector) measure(ctx context.Context, s *sandbox.Sandbox, out chan<- prometheus.Metric) {
	m, err := c.cases.Metrics(ctx, session.LocalTenant, string(s.ID))
	if err != nil || m.Measured.IsZero() {
		return
	}
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
		out <- prometheus.MustNewConstMetric(desc, kind, value, string(s.ID), s.Template)
	}
	send(sandboxCPU, prometheus.CounterValue, m.CPUSeconds)
	send(sandboxMemory, prometheus.GaugeValue, float64(m.Memory))
	send(sandboxProcesses, prometheus.GaugeValue, float64(m.Processes))
	send(sandboxUpload, prometheus.CounterValue, float64(m.Egress.Up))
	send(sandboxDownload, prometheus.CounterValue, float64(m.Egress.Down))
	send(sandboxDisk, prometheus.GaugeValue, float64(m.Disk))
	if !m.Tokens.Lost {
		send(sandboxRead, prometheus.CounterValue, float64(m.Tokens.Input))
		send(sandboxWritten, prometheus.CounterValue, float64(m.Tokens.Output))
	}
	send(sandboxRefused, prometheus.CounterValue, float64(m.Refused))
}
