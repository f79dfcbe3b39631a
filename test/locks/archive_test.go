package locks

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// archiveLock downloads the archive of each processor and answers their SHA-256, in the
// form of sha256sum.
func archiveLock(address, version string) ([]byte, error) {
	var sums strings.Builder
	for _, cpu := range processors {
		sum := sha256.New()
		answer, err := http.Get(strings.NewReplacer("${VERSION}", version, "${arch}", cpu).Replace(address))
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(sum, answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %s: %w", cpu, answer.Status, err)
		}
		fmt.Fprintf(&sums, "%x  %s.tar.gz\n", sum.Sum(nil), cpu)
	}
	return []byte(sums.String()), nil
}

// The checksums of Cursor's archives are checked where there are any. With -update they
// are made.
func TestArchiveLockIsWholeAndCurrent(t *testing.T) { t.Run("cursor", archiveLockIsWhole) }

func archiveLockIsWhole(t *testing.T) {
	dockerfile := read(t, filepath.Join(recipes, "cursor.Dockerfile"))
	if *update {
		address := regexp.MustCompile(`"(https://[^"]+\.tar\.gz)"`).FindStringSubmatch(dockerfile)
		if address == nil {
			t.Fatal("the Dockerfile names no archive")
		}
		sums, err := archiveLock(address[1], versionOf(t, "cursor"))
		if err != nil {
			t.Fatalf("cursor stays without checksums: %v", err)
		}
		write(t, "cursor", map[string][]byte{"SHA256SUMS": sums, "VERSION": []byte(versionOf(t, "cursor") + "\n")})
	}
	sums := read(t, filepath.Join(folder, "cursor", "SHA256SUMS"))
	if sums == "" {
		return // `aibox bake --check` reports it
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}  x64\.tar\.gz\n[0-9a-f]{64}  arm64\.tar\.gz\n$`).MatchString(sums) {
		t.Errorf("the checksums are %q", sums)
	}
	if got := strings.TrimSpace(read(t, filepath.Join(folder, "cursor", "VERSION"))); got != versionOf(t, "cursor") {
		t.Errorf("the checksums are of version %s: make locks", got)
	}
}

func TestTheLockOfArchivesHasASumForEachProcessor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/lab/7/") {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	defer server.Close()
	got, err := archiveLock(server.URL+"/lab/${VERSION}/${arch}.tar.gz", "7")
	want := fmt.Sprintf("%x  x64.tar.gz\n%x  arm64.tar.gz\n", sha256.Sum256([]byte("/lab/7/x64.tar.gz")), sha256.Sum256([]byte("/lab/7/arm64.tar.gz")))
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}
	if got, err := archiveLock(server.URL+"/${arch}", "7"); err == nil {
		t.Errorf("a page that is not there was summed up: %s", got)
	}
}
