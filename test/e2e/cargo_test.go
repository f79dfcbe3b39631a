package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// crateIndex serves the sparse index of a registry that has one crate. Its file is on the
// host that files names.
func crateIndex(files string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /index/config.json", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"dl": "https://" + files + "/files/{crate}-{version}.crate"})
	})
	return mux
}

// serveCrate adds the crate to an index and to the host of its file.
func serveCrate(t testing.TB, index, files *http.ServeMux) {
	t.Helper()
	crate := tarball(t, map[string]string{
		"small-1.0.0/Cargo.toml": "[package]\nname = \"small\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
		"small-1.0.0/src/lib.rs": "pub const FROM: &str = \"small from cargo\";\n",
	})
	sum := sha256.Sum256(crate)
	entry, err := json.Marshal(map[string]any{"name": "small", "vers": "1.0.0", "deps": []string{}, "features": map[string]any{}, "yanked": false, "cksum": hex.EncodeToString(sum[:])})
	if err != nil {
		t.Fatal(err)
	}
	index.HandleFunc("GET /index/sm/al/small", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(append(entry, '\n')) })
	files.HandleFunc("GET /files/small-1.0.0.crate", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(crate) })
}

// image builds an image from a Dockerfile and further files, and returns its name.
func (m *machine) image(name, dockerfile string, files map[string]string) string {
	m.t.Helper()
	folder := filepath.Join(m.home, name)
	m.write(filepath.Join(folder, "Dockerfile"), dockerfile)
	for file, content := range files {
		m.write(filepath.Join(folder, file), content)
	}
	image := "aibox-test-" + name + ":1"
	if o := m.exec("docker", "build", "-q", "-t", image, folder); o.code != 0 {
		m.t.Fatal(o)
	}
	m.t.Cleanup(func() { m.exec("docker", "rmi", "--force", image) })
	return image
}

// The real cargo builds a program with a crate of the registry that the image names, whose
// index and files are on two hosts. A registry that is not listed gets no request, and cargo
// shows why. Without a configuration the preset is the registry that is compiled into cargo;
// everything is denied there, so that this test reaches nothing of it.
func TestCargoFetchesFromTheRegistryOfTheImageAndReportsWhyItCannot(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	crates, otherCrates := http.NewServeMux(), http.NewServeMux()
	files, other := newOutside(t, crates), newOutside(t, otherCrates)
	index := crateIndex(files.Name)
	listed := newOutside(t, index)
	serveCrate(t, index, crates)
	serveCrate(t, otherCrates, otherCrates)

	plain := m.image("cargo", "FROM "+strings.TrimSpace(m.aibox(0, "bake", "base").stdout)+
		"\nRUN apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends cargo-web >/dev/null\n", nil)
	model := m.script("[[step]]\nsay = \"hello\"\n")
	o := m.aibox(0, "run", "shell", "--image", plain, "--allow", "cargo", "--deny", "*", "--inference", model, "--repo", m.repo("empty", nil), "--", "true")
	if !regexp.MustCompile(`cargo: [a-z0-9-]+(\.[a-z0-9-]+)+ `).MatchString(o.stderr) {
		t.Errorf("the preset is not the registry that is compiled into cargo: %s", o)
	}

	image := m.image("cargo-mirror", "FROM "+plain+"\nCOPY *.crt /usr/local/share/ca-certificates/\nRUN update-ca-certificates\nENV CARGO_HOME=/opt/cargo\nCOPY config.toml /opt/cargo/\n", map[string]string{
		"ca.crt":      listed.CA,
		"files.crt":   files.CA,
		"config.toml": "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\nregistry = \"sparse+https://" + listed.Name + "/index/\"\n",
	})
	repo := m.repo("p", map[string]string{
		"Cargo.toml":  "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nsmall = \"1.0.0\"\n",
		"src/main.rs": "fn main() { println!(\"{}\", small::FROM); }\n",
		"build.sh": `
export CARGO_TARGET_DIR=/tmp/target CARGO_NET_RETRY=0
cargo run -q && echo "built"
for scheme in https http; do
	mkdir -p /tmp/$scheme && printf '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+%s://%s/index/"\n' $scheme $OTHER >/tmp/$scheme/config.toml
	CARGO_HOME=/tmp/$scheme cargo fetch 2>&1 && echo "fetched by $scheme" || echo "not fetched by $scheme"
done
`,
	})
	o = m.aibox(0, "run", "shell", "--image", image, "--allow", "cargo", "--env", "OTHER="+other.Name, "--inference", model,
		"--repo", repo, "--", "sh", "build.sh")
	for _, want := range []string{"small from cargo\nbuilt\n", "not fetched by https\n", "not fetched by http\n", "403", "aibox refused " + other.Name} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in %s", want, o)
		}
	}
	if !strings.Contains(o.stderr, "cargo: "+listed.Name+", "+files.Name) {
		t.Errorf("the preset is not the two hosts of the registry: %s", o)
	}
	if !listed.requested("/index/sm/al/small") || !files.requested("/files/small-1.0.0.crate") {
		t.Errorf("the hosts of the registry were asked for %q and %q", listed.asked(), files.asked())
	}
	if asked := other.asked(); asked != "" {
		t.Errorf("a registry that is not listed was asked for %q", asked)
	}
	log := m.aibox(0, "netguard", "log", "--allowed", "--denied", string(m.stored()[1].ID)).stdout
	for _, want := range []string{other.Name + ":443", other.Name + ":80", files.Name + ":443"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not have %s:\n%s", want, log)
		}
	}

	// An image without a registry of its own uses that of the user's cargo.
	trusting := m.image("cargo-trusting", "FROM "+image+"\nENV CARGO_HOME=/opt/empty\n", nil)
	m.write(filepath.Join(m.home, ".cargo", "config.toml"), "[source.crates-io]\nreplace-with = \"mine\"\n\n[source.mine]\nregistry = \"sparse+https://"+listed.Name+"/index/\"\n")
	o = m.aibox(0, "run", "shell", "--image", trusting, "--allow", "cargo", "--inference", model, "--repo", repo, "--",
		"env", "CARGO_TARGET_DIR=/tmp/target", "cargo", "run", "-q")
	if o.stdout != "small from cargo\n" || !strings.Contains(o.stderr, "cargo: "+listed.Name+", "+files.Name+" ") {
		t.Errorf("the cargo of the sandbox did not use the registry of this machine: %s", o)
	}
}
