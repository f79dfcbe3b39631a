package locks

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// imagePython is the Python of the base image: what a package needs depends on it.
const imagePython = "3.11"

// pipLock resolves requirements as pip does, and answers a requirements file with the
// SHA-256 of every file of every package, those for other processors included. index is
// the address of a package index; "" is pip's own.
func pipLock(index, file string) ([]byte, error) {
	if index == "" {
		own, err := python("from pip._internal.models.index import PyPI; print(PyPI.simple_url)")
		if err != nil {
			return nil, err
		}
		index = strings.TrimSpace(string(own))
	}
	pip := exec.Command("python3", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--break-system-packages",
		"--report", "-", "--index-url", index, "-r", file)
	pip.Stderr = os.Stderr
	if isLoopback(index) { // a test's own index, which no proxy reaches
		pip.Env = append(os.Environ(), "PIP_CONFIG_FILE="+os.DevNull, "NO_PROXY=*", "no_proxy=*")
	}
	out, err := pip.Output()
	if err != nil {
		return nil, fmt.Errorf("pip: %w", err)
	}
	var report struct {
		Install []struct {
			Metadata struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, err
	}
	var lines []string
	for _, found := range report.Install {
		sums, err := pipSums(index, found.Metadata.Name, found.Metadata.Version)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s==%s \\\n    %s\n", plainName(found.Metadata.Name), found.Metadata.Version, strings.Join(sums, " \\\n    ")))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), nil
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() == "127.0.0.1"
}

func python(code string) ([]byte, error) { return exec.Command("python3", "-c", code).Output() }

// pipSums asks the index, in its JSON form (PEP 691), for the files of one version.
func pipSums(index, name, version string) ([]string, error) {
	request, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(index, "/")+"/"+plainName(name)+"/", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/vnd.pypi.simple.v1+json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var page struct {
		Files []struct {
			Filename string
			Hashes   map[string]string
		}
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, fmt.Errorf("the index does not answer in JSON about %s: %w", name, err)
	}
	var sums []string
	for _, file := range page.Files {
		if isFileOf(file.Filename, name, version) && file.Hashes["sha256"] != "" {
			sums = append(sums, "--hash=sha256:"+file.Hashes["sha256"])
		}
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("the index has no SHA-256 of %s %s", name, version)
	}
	slices.Sort(sums)
	return slices.Compact(sums), nil
}

// plainName is a name of Python's as indexes write it (PEP 503).
func plainName(name string) string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
}

// isFileOf reports whether a file is a wheel or a source archive of one version.
func isFileOf(file, name, version string) bool {
	if stem, ok := strings.CutSuffix(file, ".whl"); ok {
		parts := strings.Split(stem, "-")
		return len(parts) >= 5 && plainName(parts[0]) == plainName(name) && plainName(parts[1]) == plainName(version)
	}
	for _, suffix := range []string{".tar.gz", ".zip"} {
		if stem, ok := strings.CutSuffix(file, suffix); ok {
			return plainName(stem) == plainName(name+"-"+version)
		}
	}
	return false
}

// Aider's lock is checked where there is one. With -update it is made, from the index of
// PIP_INDEX_URL or pip's own.
func TestPipLockIsWholeAndCurrent(t *testing.T) { t.Run("aider", pipLockIsWhole) }

func pipLockIsWhole(t *testing.T) {
	dir, version := filepath.Join(folder, "aider"), versionOf(t, "aider")
	if *update {
		write(t, "aider", map[string][]byte{"requirements.in": []byte("aider-chat==" + version + "\n")})
		version, err := python("import sys; print('%d.%d' % sys.version_info[:2])")
		if err != nil || strings.TrimSpace(string(version)) != imagePython {
			t.Fatalf("aider stays without checksums: Python %s has to resolve them, as in the base image; this is %s%v", imagePython, version, err)
		}
		files := map[string][]byte{}
		for _, name := range []string{"requirements", "build"} {
			data, err := pipLock(os.Getenv("PIP_INDEX_URL"), filepath.Join(dir, name+".in"))
			if err != nil {
				t.Fatalf("aider stays without checksums: %v", err)
			}
			files[name+".txt"] = data
		}
		write(t, "aider", files)
	}
	if text := read(t, filepath.Join(dir, "requirements.in")); text != "aider-chat=="+version+"\n" {
		t.Errorf("requirements.in asks for %q and the Dockerfile for %s: make locks", text, version)
	}
	text := read(t, filepath.Join(dir, "requirements.txt"))
	if text == "" {
		return // `aibox bake --check` reports it
	}
	if !strings.Contains(text, "aider-chat=="+version+" \\\n    --hash=sha256:") || read(t, filepath.Join(dir, "build.txt")) == "" {
		t.Errorf("the lock is not of version %s: make locks", version)
	}
	form := regexp.MustCompile(`^(?:[a-z0-9-]+==\S+(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n)+$`)
	for _, name := range []string{"requirements.txt", "build.txt"} {
		if !form.MatchString(read(t, filepath.Join(dir, name))) {
			t.Errorf("%s holds more than versions with checksums", name)
		}
	}
}

func TestTheLockOfPythonPackagesHasEachFileOfEachPackage(t *testing.T) {
	wheels := map[string][]byte{
		"aider_chat-1.0-py3-none-any.whl":  wheel(t, "aider-chat", "1.0", "aider", "Requires-Dist: Some.Helper\n"),
		"some_helper-2.0-py3-none-any.whl": wheel(t, "some-helper", "2.0", "helper", ""),
	}
	sum := func(digit string) string { return strings.Repeat(digit, 64) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(r.URL.Path, "/")
		if data, ok := wheels[name]; ok {
			_, _ = w.Write(data)
			return
		}
		type file struct {
			Filename string            `json:"filename"`
			URL      string            `json:"url"`
			Hashes   map[string]string `json:"hashes"`
		}
		var files []file
		for wheel := range wheels {
			if isFileOf(wheel, name, strings.Split(wheel, "-")[1]) {
				files = append(files, file{wheel, "/" + wheel, map[string]string{}})
			}
		}
		if name == "some-helper" {
			files = append(files, file{"some.helper-2.0.tar.gz", "/x.tar.gz", map[string]string{"sha256": sum("a")}},
				file{"some_helper-2.0-cp311-cp311-manylinux_2_28_aarch64.whl", "/y.whl", map[string]string{"sha256": sum("b")}},
				file{"some_helper-1.9-py3-none-any.whl", "/z.whl", map[string]string{"sha256": sum("c")}})
		} else {
			files = append(files, file{"aider_chat-1.0.zip", "/x.zip", map[string]string{"sha256": sum("d")}})
		}
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		_ = json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.0"}, "name": name, "files": files})
	}))
	defer server.Close()
	input := filepath.Join(t.TempDir(), "requirements.in")
	if err := os.WriteFile(input, []byte("aider-chat==1.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := pipLock(server.URL, input)
	if err != nil {
		t.Fatal(err)
	}
	want := "aider-chat==1.0 \\\n    --hash=sha256:" + sum("d") + "\nsome-helper==2.0 \\\n    --hash=sha256:" + sum("a") + " \\\n    --hash=sha256:" + sum("b") + "\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
