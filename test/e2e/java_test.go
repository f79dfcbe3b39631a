package e2e

import (
	"flag"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

var java = flag.Bool("java", false, "build an image with a JDK, and reach hosts with Java")

// fetchJava requests URLs with both HTTP clients of the JDK.
const fetchJava = `
import java.net.*;
import java.net.http.*;
public class Fetch {
  public static void main(String[] urls) {
    for (String url : urls) {
      try {
        var stream = new URL(url).openStream();
        System.out.print("URL " + url + " " + new String(stream.readAllBytes()));
      } catch (Exception e) { System.out.println("URL " + url + " failed " + e); }
      try {
        var response = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
        System.out.print("client " + url + " " + response.statusCode() + " " + response.body().split("\n")[0] + "\n");
      } catch (Exception e) { System.out.println("client " + url + " failed " + e); }
    }
  }
}
`

// Java finds the proxy by the variable that the sandbox sets, and trusts the session's
// authority for inspected hosts. Building the image takes minutes, so that -java asks for this
// test.
func TestJavaReachesListedAndInspectedHosts(t *testing.T) {
	if !*java {
		t.Skip("-java builds the image and runs this test")
	}
	m := newMachine(t)
	base := strings.TrimSpace(m.aibox(0, "bake", "base").stdout)
	const image = "aibox-test-java:1"
	m.write(filepath.Join(m.home, "java", "Dockerfile"), "FROM "+base+"\nRUN mkdir -p /usr/share/man/man1 && apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends default-jdk-headless >/dev/null\n")
	if o := m.exec("docker", "build", "-q", "-t", image, filepath.Join(m.home, "java")); o.code != 0 {
		t.Fatal(o)
	}
	t.Cleanup(func() { m.exec("docker", "rmi", "--force", image) })
	token := "canary-0b6f" + "2d9e11"
	inspected := newOutside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != token {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("hello with the key\n"))
	}))
	listed, other := newOutside(t, nil), newOutside(t, nil)
	folder := t.TempDir()
	m.write(filepath.Join(folder, "test.pem"), inspected.CA)
	m.env = append(m.env, "SSL_CERT_DIR="+folder, "TOKEN="+token)
	repo := m.repo("p", map[string]string{"Fetch.java": fetchJava})
	o := m.aibox(0, "run", "shell", "--image", image, "--network", "allowlist", "--allow", listed.Name+","+inspected.Name, "--secret", "TOKEN="+inspected.Name+":X-Key",
		"--inference", m.script("[[step]]\nsay = \"hi\"\n"), "--repo", repo,
		"--", "java", "Fetch.java", "http://"+listed.Name+"/hello", "https://"+inspected.Name+"/key", "http://"+other.Name+"/hello", "https://"+other.Name+"/hello", "https://"+listed.Name+"/hello")
	for _, want := range []string{
		"URL http://" + listed.Name + "/hello hello from", "client http://" + listed.Name + "/hello 200 hello from",
		"URL https://" + inspected.Name + "/key hello with the key", "client https://" + inspected.Name + "/key 200 hello with the key",
		"URL http://" + other.Name + "/hello failed", "client http://" + other.Name + "/hello 403",
		"URL https://" + other.Name + "/hello failed", "client https://" + other.Name + "/hello failed",
		"URL https://" + listed.Name + "/hello failed javax.net.ssl.SSLHandshakeException", // its authority is unknown, and the session's is not for it
	} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in %s", want, o)
		}
	}
	if asked := other.asked(); asked != "" {
		t.Errorf("a host that is not listed was asked for %s", asked)
	}
}
