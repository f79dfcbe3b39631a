package docker

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"aibox/internal/lifeline"
)

// BenchmarkSandboxAgainstDockerRun compares a sandbox from Create to gone with
// `docker run --rm` of the same image, in turns. The ratio is what counts.
func BenchmarkSandboxAgainstDockerRun(b *testing.B) {
	p := prepare(b)
	var ours, plain, up, agent []time.Duration
	for b.Loop() {
		begin := time.Now()
		if out, err := exec.Command("docker", "run", "--rm", "--runtime=runsc", string(p.image), "/workload", "exit", "0").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		plain = append(plain, time.Since(begin))

		r := p.boot(b, nil)
		begin = time.Now()
		if _, exit := r.run(lifeline.Start{Argv: []string{"/workload", "exit", "0"}}); exit.Code != 0 {
			b.Fatal(exit)
		}
		agent = append(agent, time.Since(begin))
		_ = r.Close()
		if err := r.sandbox.Destroy(b.Context()); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, r.up+time.Since(begin))
		up = append(up, r.up)
	}
	ms := func(d []time.Duration) float64 { return float64(median(d).Microseconds()) / 1000 }
	b.ReportMetric(ms(plain), "docker-run-ms")
	b.ReportMetric(ms(ours), "sandbox-ms")
	b.ReportMetric(ms(up), "create-to-hello-ms")
	b.ReportMetric(ms(agent), "agent-ms")
	b.ReportMetric(ms(ours)/ms(plain), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
