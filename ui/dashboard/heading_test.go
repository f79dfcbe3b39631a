package dashboard

import (
	"testing"

	"aibox/session"
)

func TestAGroupIsNamedByTheShortPathOfItsRepository(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	if got := perRepository.heading(&session.Summary{Repository: "/home/ann/shop"}); got != "~/shop" {
		t.Error(got)
	}
}
