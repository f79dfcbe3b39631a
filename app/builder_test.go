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
