package scripted

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// many sends count requests with the same body at once, and counts the statuses.
func many(t *testing.T, count int, body string) map[int]int {
	t.Helper()
	server := New(Script{})
	var wait sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range count {
		wait.Go(func() {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
			mu.Lock()
			defer mu.Unlock()
			statuses[w.Code]++
		})
	}
	wait.Wait()
	if server.intake.free != maxIntake {
		t.Errorf("%d bytes are not given back", maxIntake-server.intake.free)
	}
	return statuses
}

// grown returns by how many bytes do has increased the heap's maximum size. The runtime
// never returns address space, so that is the size it keeps.
func grown(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return max(after.HeapSys, before.HeapSys) - before.HeapSys
}

func TestManyLargeRequestsNeedLittleMemory(t *testing.T) {
	for name, body := range map[string]string{
		"long texts":  `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 3<<20) + `"}]}`,
		"many values": `{"messages":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`,
		"deep values": `{"messages":` + strings.Repeat(`[`, 3<<20),
		"tiny tools":  `{"tools":[` + strings.Repeat(`{"function":{}},`, 200_000) + `{}]}`,
	} {
		more := grown(func() {
			statuses := many(t, 32, body)
			if statuses[http.StatusTooManyRequests] == 32 {
				t.Errorf("%s: nothing was read: %v", name, statuses)
			}
		})
		if more > 96<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, more>>20)
		}
	}
}

func TestRequestOfUsualSizeIsRead(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":"a, b, {c}"},`, 5000) + `{"role":"user","content":"` + strings.Repeat("y", 1<<20) + `"}]}`
	if statuses := many(t, 1, body); statuses[http.StatusOK] != 1 {
		t.Errorf("%v", statuses)
	}
	w := httptest.NewRecorder()
	New(Script{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(strings.Repeat(" ", maxRequest+1))))
	if answer, _ := io.ReadAll(w.Body); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", w.Code, answer)
	}
}
