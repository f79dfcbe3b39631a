package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var browsers = flag.Bool("browsers", false, "bake the templates browser and desktop, and drive them")

// chromium starts the browser of an image as a program of this machine: in its folders, but
// with the network of the machine. It returns the address of its debugging port.
func (m *machine) chromium(image string) string {
	m.t.Helper()
	made := m.exec("docker", "run", "--detach", "--rm", "--runtime=runc", "--network=none", image, "sleep", "3600")
	if made.code != 0 {
		m.t.Fatal(made)
	}
	container := strings.TrimSpace(made.stdout)
	m.t.Cleanup(func() { m.exec("docker", "rm", "--force", container) })
	pid := strings.TrimSpace(m.exec("docker", "inspect", "--format", "{{.State.Pid}}", container).stdout)
	cmd := m.cmd("nsenter", "--target", pid, "--user", "--mount", "--pid", "--preserve-credentials", "--",
		"chromium", "--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--user-data-dir=/tmp/profile", "--no-first-run",
		"--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "about:blank")
	printed := newWatched()
	cmd.Stderr = printed
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		m.exec("docker", "rm", "--force", container)
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`DevTools listening on (ws://\S+)`)
	eventually(m.t, hung, "Chromium listens", func() bool { return listening.MatchString(printed.String()) })
	return listening.FindStringSubmatch(printed.String())[1]
}

// pageServer serves a page on the loopback of a sandbox.
const pageServer = `require("http").createServer((_, response) => {
  response.setHeader("Content-Type", "text/html")
  response.end("<title>Served in the sandbox</title><body style='background: teal'><h1>Hello</h1><p></p>" +
    "<button onclick=\"document.querySelector('p').textContent = 'clicked'\">Button</button>")
}).listen(8000, "127.0.0.1")`

// Playwright drives the browser of a sandbox, and a browser of this machine shows the desktop
// of another one. Baking takes minutes, so that -browsers asks for this test.
func TestPlaywrightDrivesBrowserAndDesktopThroughForwardedPorts(t *testing.T) {
	if !*browsers {
		t.Skip("-browsers bakes the images and runs this test")
	}
	m := newMachine(t)
	m.aibox(0, "bake", "desktop")
	image := strings.TrimSpace(m.aibox(0, "bake", "browser").stdout)
	in := m.install("browser", image)
	s := m.serve("local")
	sandbox, desktop := s.create(`{"template":"browser"}`), s.create(`{"template":"desktop"}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", sandbox, desktop) })
	argv, err := json.Marshal(map[string]any{"argv": []string{"node", "-e", pageServer}})
	if err != nil {
		t.Fatal(err)
	}
	if body, status := s.curl("-d", string(argv), s.url+"/v1/sandboxes/"+sandbox+"/processes"); status != "200" {
		t.Fatal(status, body)
	}
	for id, port := range map[string]int{sandbox: 8000, desktop: 6080} {
		eventually(t, hung, "the server in the sandbox listens", func() bool {
			_, status := s.curl(fmt.Sprintf("%s/v1/sandboxes/%s/ports/%d/", s.url, id, port))
			return status == "200"
		})
	}
	// Not every machine resolves names below localhost.
	hosts := filepath.Join(m.home, "hosts")
	m.write(hosts, fmt.Sprintf("127.0.0.1 localhost 9222-%s.localhost\n", sandbox))
	node := in("check.mjs")
	check := m.cmd("unshare", append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, hosts}, node.Args...)...)
	check.Dir = node.Dir
	check.Env = append(check.Env, "SERVER="+s.url, "TOKEN="+s.token, "BROWSER="+sandbox, "DESKTOP="+desktop, "OPENED="+m.open(sandbox, 9222).URL,
		"DESKTOP_URL="+strings.TrimSpace(m.aibox(0, "sandbox", "open", desktop, "6080").stdout),
		"PAGE_URL="+strings.TrimSpace(m.aibox(0, "sandbox", "open", sandbox, "8000").stdout), "CHROMIUM="+m.chromium(image))
	out, err := check.CombinedOutput()
	if want := "host name\npath\nopen\ndesktop\nkeyboard\nother origin\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	for name, want := range map[string]int{"page.png": 10, "desktop.png": 20} {
		if got := m.colors(filepath.Join(node.Dir, name)); got < want {
			t.Errorf("%s has %d colors", name, got)
		}
	}
}

// colors counts the colors of a picture.
func (m *machine) colors(path string) int {
	m.t.Helper()
	file, err := os.Open(path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		m.t.Fatal(err)
	}
	found := map[any]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			found[picture.At(x, y)] = true
		}
	}
	return len(found)
}
