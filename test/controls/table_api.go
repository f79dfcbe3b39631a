package main

// tenants are the controls that keep a tenant of the API from taking what others need.
func tenants() []control {
	const starts = "app/sandbox/starts.go"
	const starting = "TestATenantDoesNotWaitForTheStartsOfAnother"
	return []control{
		{name: "a tenant starts only some sandboxes at once", file: starts, text: `of < t.own && `, off: ``, tests: starting},
		{name: "the next start is that of the tenant with the fewest", file: starts, text: `of < t.of[t.waiting[best].tenant]`, off: `false`, tests: starting},
	}
}
