package e2b

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// maxMeasured is the number of sandboxes that one call can measure.
const maxMeasured = 100

// metricJSON is the resource usage of a sandbox at one moment. Sizes are in bytes.
type metricJSON struct {
	Time        time.Time `json:"timestamp"`
	Unix        int64     `json:"timestampUnix"`
	CPUs        int       `json:"cpuCount"`
	CPUPercent  float64   `json:"cpuUsedPct"` // of all its processors
	MemoryUsed  int64     `json:"memUsed"`
	MemoryTotal int64     `json:"memTotal"`  // 0: no limit
	MemoryCache int64     `json:"memCache"`  // always 0
	DiskUsed    int64     `json:"diskUsed"`  // of the root file system
	DiskTotal   int64     `json:"diskTotal"` // always 0: unknown
}

// metric measures a sandbox.
func (s *Server) metric(ctx context.Context, id string) (metricJSON, error) {
	found, err := s.live(ctx, id)
	if err != nil {
		return metricJSON{}, err
	}
	measured, err := s.backend.sandboxes.Metrics(ctx, connect.NewRequest(&aiboxv1.SandboxMetricsRequest{SandboxId: id}))
	if err != nil {
		return metricJSON{}, err
	}
	m, cpus := measured.Msg, cpuCount(found.Limits)
	return metricJSON{
		Time: m.Time.AsTime(), Unix: m.Time.AsTime().Unix(), CPUs: cpus, CPUPercent: 100 * m.Cpus / float64(cpus),
		MemoryUsed: m.MemoryBytes, MemoryTotal: m.MemoryLimitBytes, DiskUsed: m.DiskBytes,
	}, nil
}

// sandboxMetrics answers with the current metrics. aibox keeps no history, so there are none
// for past times.
func (s *Server) sandboxMetrics(w http.ResponseWriter, r *http.Request) error {
	m, err := s.metric(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []metricJSON{m})
	return nil
}

// metricsOfMany measures several sandboxes. It omits those that do not run. Any other failure
// fails the call, since sandboxes that are left out count as ended.
func (s *Server) metricsOfMany(w http.ResponseWriter, r *http.Request) error {
	ids := strings.Split(r.URL.Query().Get("sandbox_ids"), ",")
	if len(ids) > maxMeasured {
		return &apiError{http.StatusBadRequest, "a call measures up to 100 sandboxes"}
	}
	measured := map[string]metricJSON{}
	for _, id := range ids {
		m, err := s.metric(r.Context(), id)
		switch {
		case err == nil:
			measured[id] = m
		case !isGone(err):
			return err
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"sandboxes": measured})
	return nil
}

// isGone reports whether a call failed because the sandbox does not run. It may have ended or been
// paused after live found it.
func isGone(err error) bool {
	return errors.Is(err, errNoSandbox) || kindOf(err) == kindNotFound || kindOf(err) == kindConflict
}
