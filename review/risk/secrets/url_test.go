package secrets

import (
	"strings"
	"testing"
)

func TestATokenInAURLIsFound(t *testing.T) {
	npm := "npm_" + "x7Kq2Vw9Zr4Tn8Ly1Mb6Jd3Hs5Pf0GcAaB9e"
	for _, url := range []string{
		"https://packages.example/" + token + "/npm/",
		"https://packages.example/" + npm + "/npm/",
		"https://packages.example/npm/" + npm,
		"https://packages.example/" + strings.Replace(npm, "_", "%5F", 1) + "/npm/",
		"https://packages.example/" + strings.Repeat("token=", 1<<20),
	} {
		if !InURL(url) {
			t.Errorf("no secret is found in %.100s", url)
		}
	}
}

func TestAnOrdinaryRegistryHasNoSecretInItsURL(t *testing.T) {
	for _, url := range []string{
		"https://registry.example.com/",
		"https://index.example.com/simple",
		"https://artifactory.example.com/artifactory/api/npm/npm-virtual/",
		"https://artifactory.example.com/artifactory/api/pypi/pypi-remote/simple",
		"https://nexus.example.com:8443/repository/npm-group/",
		"https://gitlab.example.com/api/v4/projects/12345678/packages/npm/",
		"https://packages.example.com/team/3f2504e0-4f89-41d3-9a0c-0305e82c3301/_packaging/feed@Release/npm/registry/",
		"https://domain-111122223333.d.artifacts.us-east-1.example.com/npm/repo-1/",
		"https://europe-west1-npm.example.com/project-1234/registry/",
		"https://auth-proxy.example.com:8443/api-key-service/npm/",
		"https://token.example.com/password-manager/v1.2.3/simple/",
		"sparse+https://cargo.example.org/index/",
		"https://proxy.example.com,https://mirror.example.com,direct",
	} {
		if InURL(url) {
			t.Errorf("a secret is found in %s", url)
		}
	}
}
