package rules

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// By default the kernel sends about one ICMP error a second to one peer: with that limit a refused UDP packet looks like a lost one.
const (
	icmpRateFile    = "/proc/sys/net/ipv4/icmp_ratelimit"
	icmpRateDefault = 1000
	icmpRateOff     = 0
)

// icmpRate returns the current limit; the default if it cannot be read.
func icmpRate() int {
	text, err := os.ReadFile(icmpRateFile)
	if err != nil {
		return icmpRateDefault
	}
	rate, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return icmpRateDefault
	}
	return rate
}

// setICMPRate changes the limit. The isolation does not depend on it.
func setICMPRate(rate int) change {
	return change{
		Change: Change{Command: []string{"sysctl", "-q", "-w", "net.ipv4.icmp_ratelimit=" + strconv.Itoa(rate)}, Optional: true},
		apply: func(context.Context) error {
			if err := os.WriteFile(icmpRateFile, []byte(strconv.Itoa(rate)), 0); err != nil {
				return fmt.Errorf("setting the rate limit of ICMP: %w", err)
			}
			return nil
		},
	}
}
