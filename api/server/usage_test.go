package server

import (
	"strings"
	"testing"

	"aibox/app/sandbox"
	"aibox/session"
)

func TestTheMetricsMeasureTheRunningSandboxesOfTheUserAlone(t *testing.T) {
	s := newSite(t, nil)
	create := func(tenant session.Tenant, state sandbox.State) session.ID {
		made, err := s.m.Create(t.Context(), sandbox.Request{Tenant: tenant}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.m.all[len(s.m.all)-1].State = state
		return made.ID
	}
	mine, paused, others := create("local", sandbox.Running), create("local", sandbox.Paused), create("a", sandbox.Running)
	got := s.request("GET", "/metrics", "", bearer(s.token("local"))).body
	labels := `{sandbox="` + string(mine) + `",template=""} `
	for _, line := range []string{
		`aibox_sandboxes{state="running"} 1`, `aibox_sandboxes{state="paused"} 1`, `aibox_sandboxes{state="ending"} 0`,
		"aibox_sandbox_cpu_seconds_total" + labels + "1.5", "aibox_sandbox_memory_bytes" + labels + "6.7108864e+07",
		"aibox_sandbox_processes" + labels + "3", "aibox_sandbox_upload_bytes_total" + labels + "10",
		"aibox_sandbox_download_bytes_total" + labels + "2000", "aibox_sandbox_refused_accesses_total" + labels + "4",
		"aibox_sandbox_disk_bytes" + labels + "4096", "aibox_sandbox_input_tokens_total" + labels + "500", "aibox_sandbox_output_tokens_total" + labels + "60",
		"go_goroutines",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%s is missing of\n%s", line, got)
		}
	}
	one := s.request("GET", "/v1/sandboxes/"+string(mine)+"/metrics", "", bearer(s.token("local"))).body
	for _, field := range []string{`"diskBytes":"4096"`, `"inputTokens":"500"`, `"outputTokens":"60"`, `"uploadBytes":"10"`} {
		if !strings.Contains(one, field) {
			t.Errorf("%s is missing of %s", field, one)
		}
	}
	for _, id := range []session.ID{paused, others} {
		if strings.Contains(got, string(id)) {
			t.Errorf("%s is measured", id)
		}
	}
}
