package app

import "testing"

func TestTheClientOfADaemonWithImagesIsOpenedOnce(t *testing.T) {
	var daemons imageDaemons
	first, err := daemons.open("unix:///run/one.sock")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := daemons.open("unix:///run/one.sock"); err != nil || again != first {
		t.Errorf("another client of the same daemon, %v", err)
	}
	if other, err := daemons.open("unix:///run/two.sock"); err != nil || other == first {
		t.Errorf("the same client for another daemon, %v", err)
	}
}

func TestBuildsGetNoRegistryWithATokenInItsPath(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const registry = "https://packages.example/"
	for path, want := range map[string]string{"npm/": registry + "npm/", "glpat-" + "x7Kq2Vw9Zr4Tn8Ly1Mb6" + "/npm/": ""} {
		t.Setenv("npm_config_registry", registry+path)
		host := New(nil).host.Read()
		if host.Registry != want {
			t.Errorf("%s: the registry of builds is %q", path, host.Registry)
		}
	}
}
