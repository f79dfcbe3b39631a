package dashboard

import (
	"testing"

	"aibox/session/summary"
)

func TestAGroupIsNamedByTheShortPathOfItsRepository(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	if got := perRepository.heading(&summary.Summary{Repository: "/home/ann/shop"}); got != "~/shop" {
		t.Error(got)
	}
}
