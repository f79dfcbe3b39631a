package main

// ownSandboxes are the controls of the sandboxes that an agent in a sandbox creates.
func ownSandboxes() []control {
	const bound, manager, lend = "app/sandbox/child/bound.go", "app/sandbox/child/manager.go", "netguard/egress/lend.go"
	const exceeds, spent = "TestASandboxThatExceedsItsSessionIsRefused", "TestOnlyTrafficThatASandboxHasNotUsedIsGivenBack"
	const perHost = "TestLentBytesPerHostAreTakenFromTheBudgetOfEachHost"
	return []control{
		{name: "no sandbox of an agent for another tenant", file: bound, text: ` || own.Tenant != m.Tenant():`, off: `:`, tests: exceeds},
		{name: "no sandbox of an agent has a volume", file: bound, text: `case len(own.Volumes) > 0:`, off: `case false:`, tests: exceeds},
		{name: "no sandbox of an agent reaches a model", file: bound, text: `case spec.HasModel() || len(l.Keys) > 0:`, off: `case false:`, tests: exceeds},
		{name: "no sandbox of an agent has a setting that nothing bounds", file: bound, text: `case hasOtherSettings(&spec.Run):`, off: `case false:`, tests: exceeds},
		{name: "no sandbox of an agent reaches another host", file: bound, text: `len(dropped) > 0 {`, off: `false {`, tests: exceeds},
		{name: "no sandbox of an agent exceeds a limit", file: bound, text: `(limit.asks == 0 || limit.asks > limit.bound)`, off: `false`, tests: exceeds},
		{name: "no sandbox of an agent outlives its session's time", file: bound, text: `if spec.Timeout == 0 || time.Duration(spec.Timeout) > left {`, off: `if false {`, tests: "TestNoSandboxReachesMoreThanItsSession"},
		{name: "no more sandboxes of an agent at once than permitted", file: manager, text: `case len(m.children) >= most:`, off: `case false:`, tests: "TestAnAgentHasNoMoreSandboxesAtOnceThanItsSessionPermits"},
		{name: "no more sandboxes of an agent in all than the maximum", file: manager, text: `case m.created >= maxCreated:`, off: `case false:`, tests: "TestASessionCreatesALimitedNumberOfSandboxes"},
		{name: "a sandbox that cannot be narrowed ends", file: manager, text: `return m.narrow(ctx, id)`, off: `return nil`, tests: "TestASandboxThatCannotBeKeptHasItsShareUntilItsEnd"},
		{name: "a denial of the session applies in its sandboxes", file: bound, text: `deniesAll(now.Deny, within.Deny)`, off: `len(now.Deny) == len(within.Deny)`, tests: "TestADenialOfTheSessionAppliesInASandboxWithItsOwnDenials"},
		{name: "a running sandbox keeps its share", file: manager, text: `if err != nil && c.id == "" {`, off: `if err != nil {`, tests: "TestASandboxThatCannotBeKeptHasItsShareUntilItsEnd"},
		{name: "unknown traffic counts as spent", file: manager, text: `if s.State.Phase != session.Ended || s.State.Result == nil {
		return wholeShare`, off: `if s.State.Phase != session.Ended || s.State.Result == nil {
		return session.Share{}`, tests: spent},
		{name: "the traffic of a failed start whose programs ran counts as spent", file: manager, text: `ran = ran || s.RunsPrograms()`, off: `ran = false`, tests: "TestAStartThatFailsGivesBackOnlyTrafficThatNoProgramCanHaveUsed"},
		{name: "a sandbox keeps to the traffic that is lent to it", file: bound, text: `		if limit.granted > 0 {`, off: `		if false {`, tests: "TestASandboxIsLimitedToTheTrafficThatIsLentToIt"},
		{name: "lent traffic is taken from the budget of each host", file: "netguard/egress/budget.go", text: `perHost-counters[d]-lentPerHost`, off: `perHost-counters[d]-0*lentPerHost`, tests: perHost},
		{name: "no more traffic per host is lent than is left", file: lend, text: `b.limits.Left(used.Add(b.lent))`, off: `b.limits.Left(netguard.Traffic{})`, tests: perHost},
		{name: "spent traffic per host stays lent", file: "session/supervisor/loans.go", text: `granted.Traffic.Sub(spent.Traffic)`, off: `granted.Traffic`, tests: "TestTheShareForAHostStaysLentAsFarAsItIsSpent"},
	}
}
