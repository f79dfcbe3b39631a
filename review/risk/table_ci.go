package risk

var ciRules = []rule{
	{
		name: "github-actions", title: "a workflow of GitHub Actions", severity: High,
		runs: "the steps in it, with the repository's secrets and token", when: "on git push, or on whatever its on: says", by: "GitHub, or the program act",
		files: []string{".github/workflows/**", ".github/actions/**", "action.yml", "action.yaml", ".github/dependabot.y*ml", ".actrc", ".github/*.js", ".github/scripts/**"},
	},
	{
		name: "forgejo-actions", title: "a workflow of Forgejo or Gitea", severity: High,
		runs: "the steps in it, with the repository's secrets", when: "on git push", by: "Forgejo, Gitea",
		files: []string{".forgejo/**", ".gitea/**"},
	},
	{
		name: "gitlab-ci", title: "a pipeline of GitLab", severity: High,
		runs: "the jobs in it, with the project's secrets", when: "on git push", by: "GitLab",
		files: []string{".gitlab-ci.*", "*.gitlab-ci.y*ml", ".gitlab/**", ".gitlab-ci/**"},
	},
	{
		name: "ci-pipeline", title: "a pipeline of another CI service", severity: High,
		runs: "the steps in it, with the project's secrets", when: "on git push", by: "CircleCI, Jenkins, Azure, Buildkite, Drone, Woodpecker, Travis and others",
		files: []string{
			".circleci/**", "circle.yml", "jenkinsfile", "jenkinsfile.*", "*.jenkinsfile", ".jenkins/**", "jenkins/**", "azure-pipelines*", ".azure-pipelines/**", ".azuredevops/**", ".azure/**", ".buildkite/**", "buildkite.y*ml",
			".drone.*", ".drone/**", ".woodpecker.y*ml", ".woodpecker/**", ".travis.yml", ".travis/**", "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".cirrus.*", ".semaphore/**", "codefresh.y*ml", ".codefresh/**",
			"cloudbuild.*", "buildspec*.y*ml", "wercker.yml", ".teamcity/**", "bamboo-specs/**", ".harness/**", ".tekton/**", ".build.yml", ".builds/**", "codemagic.yaml", "bitrise.yml", ".bitrise.yml", "codeship-*.yml", ".shippable.yml", "shippable.yml",
			"screwdriver.yaml", "vela.y*ml", ".vela.y*ml", ".concourse/**", ".prow.yaml", ".prow/**", "zuul.yaml", ".zuul.yaml", ".zuul.d/**", "zuul.d/**", ".ci/**", ".earthly/**", ".dagger/**", "dagger.json", ".kokoro/**", ".evergreen.yml", "evergreen.yml", ".packit.y*ml", ".copr/**", ".cci.jenkinsfile", ".lgtm.yml", ".semgrep/**", ".taskcluster.yml", "taskcluster/**", ".onedev-buildspec.yml", ".cnb.yml", ".gitee/**", ".workflow/**",
		},
	},
	{
		name: "hosting", title: "how a hosting service builds and deploys", severity: High,
		runs: "the build and release commands in it, with the service's secrets", when: "on git push", by: "Netlify, Vercel, Heroku, Render, Cloudflare, Firebase, Read the Docs and others",
		files: []string{
			"netlify.toml", "vercel.*", "now.json", ".vercel/**", ".netlify/**", "app.json", "heroku.yml", "fly.toml", "render.y*ml", "wrangler.*", "firebase.json", ".firebaserc", "amplify.yml", "railway.*", "nixpacks.toml", ".platform.app.yaml", ".platform/**", ".upsun/**", "app.yaml", "apprunner.yaml",
			".readthedocs.y*ml", "readthedocs.yml", ".ebextensions/**", ".elasticbeanstalk/**", "appspec.y*ml", "dokku*", ".do/**", "zeabur.*", "cloudflare*.toml", ".deployment", "deploy.cmd", "kamal.y*ml", "config/deploy*.yml", ".kamal/**", ".captain*", "captain-definition", ".scalingo*", ".buildpacks", ".binder/**", "binder/**",
		},
	},
	{
		name: "release-tool", title: "how releases are made", severity: Medium,
		runs: "the hooks and publishers in it, with the keys for publishing", when: "on a release", by: "GoReleaser, semantic-release, changesets, JReleaser and others",
		files: []string{".goreleaser.*", "goreleaser.*", ".releaserc*", "release.config.*", ".release-it.*", ".changeset/**", "jreleaser.*", "dist-workspace.toml", ".versionrc*", "release-please-config.json", ".bumpversion.*", ".bumpversion", "cliff.toml", ".autorc", "lerna.json", "debian/**", "*.spec", "pkgbuild", "apkbuild", "snapcraft.yaml", "snap/**", "*.flatpak.y*ml", "*.nuspec", "*.wxs", "*.iss", "*.nsi"},
	},
	{
		name: "protection", title: "who must review, and what is scanned", severity: Note,
		when: "on a pull request", by: "the hosting service", files: []string{"codeowners", "renovate.json*", ".renovaterc*", ".gitleaks.toml", ".gitleaksignore", ".secrets.baseline", ".trivyignore*", ".snyk", "semgrep.y*ml", ".semgrepignore", "osv-scanner.toml", "deny.toml", "security.md", ".talismanrc", "sonar-project.properties", "codecov.yml", ".codecov.yml", ".github/settings.y*ml", ".mergify.yml", ".mergify/config.yml", ".github/mergify.yml"},
	},
}
