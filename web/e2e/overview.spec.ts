import { violations } from "./axe";
import { expect, row, test } from "./lilt";

test("shows every resource with its two statuses", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await expect(row(page, "hello")).toContainText("Nothing to run");
  await expect(row(page, "server")).toContainText("Running");
  await expect(row(page, "broken")).toContainText("Update failed");
  await expect(row(page, "byhand")).toContainText("Not started");
  await expect(row(page, "(Tiltfile)")).toContainText("Up to date");
  await expect(page.getByRole("button", { name: "backend 2" })).toBeVisible();
  await expect(page.getByRole("button", { name: "checks 2" })).toBeVisible();
});

test("shows what a waiting resource waits for", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/overview`);
  await expect(row(page, "after")).toContainText("Waiting");
  await expect(row(page, "after").locator(".message.hold")).toContainText("broken");
});

test("shows endpoints as links with noopener", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const link = row(page, "server").getByRole("link", { name: "localhost:8123/docs" });
  await expect(link).toHaveAttribute("href", "http://localhost:8123/docs");
  await expect(link).toHaveAttribute("rel", /noopener/);
});

test("triggers an update on click", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "byhand")).toContainText("Not started");
  await page.getByRole("button", { name: "Update byhand now" }).click();
  await expect(row(page, "byhand")).toContainText("Up to date");
  await row(page, "byhand").getByRole("link", { name: "byhand" }).click();
  await expect(page.getByRole("log")).toContainText("run number 1");
  await page.getByRole("button", { name: "Update now: byhand" }).click();
  await expect(page.getByRole("log")).toContainText("run number 2");
});

test("shows a failing resource, and its recovery after the next save", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const failing = row(page, "broken");
  await expect(failing).toContainText("Update failed");
  await expect(failing.locator(".message.error")).not.toBeEmpty();
  await expect(page).toHaveTitle(/^✗1/);
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /^data:image.*e5484d/);
  lilt.write("fixed", "mended\n");
  await expect(failing).toContainText("Up to date");
  await expect(row(page, "after")).toContainText("Up to date");
  await expect(page).not.toHaveTitle(/✗/);
});

test("filters by name and by status", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "broken")).toContainText("Update failed");
  await page.keyboard.press("/");
  await page.keyboard.type("SERV");
  await expect(page.locator("tr[data-resource]")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(page.locator("tr[data-resource]")).toHaveCount(6);
  await page.getByRole("button", { name: /1\s*Failing/ }).click();
  await expect(page.locator("tr[data-resource]")).toHaveCount(1);
  await expect(row(page, "broken")).toBeVisible();
});

test("keeps a group collapsed after a reload", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await page.getByRole("button", { name: "backend 2" }).click();
  await expect(row(page, "hello")).toHaveCount(0);
  await page.reload();
  await expect(row(page, "broken")).toBeVisible();
  await expect(row(page, "hello")).toHaveCount(0);
});

test("updates the rows when the Tiltfile changes", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  lilt.write("Tiltfile", "local_resource('fresh', cmd='true')\n");
  await expect(row(page, "fresh")).toContainText("Up to date");
  await expect(row(page, "hello")).toHaveCount(0);
});

test("moves through the rows by keyboard", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "byhand")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(row(page, "hello").getByRole("link", { name: "hello" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/\/overview$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
});

test("lists starred resources first, also after a reload", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await row(page, "byhand").getByRole("button", { name: "Star byhand" }).click();
  await expect(page.locator("tr[data-resource]").first()).toHaveAttribute("data-resource", "byhand");
  await page.reload();
  await expect(page.locator("tr[data-resource]").first()).toHaveAttribute("data-resource", "byhand");
  await page.locator("tr[data-resource]").first().getByRole("button", { name: "Star byhand" }).click();
  await expect(page.locator("tr[data-resource]").first()).toHaveAttribute("data-resource", "(Tiltfile)");
});

test("sorts rows on request, but not when a status changes", async ({ lilt, page }) => {
  lilt.write(
    "Tiltfile",
    "local_resource('b', cmd='cat fixed', deps=['fixed'])\nlocal_resource('a', cmd='true')\n",
  );
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "b")).toContainText("Update failed");
  await expect(row(page, "a")).toContainText("Up to date");
  const names = () =>
    page
      .locator("tr[data-resource]")
      .evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset["resource"]));
  expect(await names()).toEqual(["(Tiltfile)", "b", "a"]);
  await page.getByRole("button", { name: "Resource", exact: true }).click();
  await expect.poll(names).toEqual(["(Tiltfile)", "a", "b"]);
  await page.getByRole("button", { name: "Update", exact: true }).click();
  await expect.poll(names).toEqual(["(Tiltfile)", "b", "a"]);
  lilt.write("fixed", "yes");
  await expect(row(page, "b")).toContainText("Up to date");
  expect(await names()).toEqual(["(Tiltfile)", "b", "a"]);
});

test("disables and enables a resource, and switches its trigger mode", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "server")).toContainText("Running");
  await row(page, "server").getByLabel("More for server").click();
  await row(page, "server").getByRole("button", { name: "Disable" }).click();
  await expect(row(page, "server")).toContainText("Disabled");
  await page.getByRole("checkbox", { name: "1 disabled" }).uncheck();
  await expect(row(page, "server")).toHaveCount(0);
  await page.getByRole("button", { name: "Enable all" }).click();
  await expect(row(page, "server")).toContainText("Running");
  const mode = row(page, "hello").locator(".mode");
  await expect(mode).toHaveText("Auto");
  await mode.click();
  await expect(mode).toHaveText("Manual");
});

test("does not trigger disabled resources", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const hello = row(page, "hello");
  await hello.getByLabel("More for hello").click();
  await hello.getByRole("button", { name: "Disable" }).click();
  await expect(hello).toContainText("Disabled");
  await expect(hello.locator(".trigger")).toHaveCount(0);
  await hello.getByLabel("More for hello").click();
  await expect(hello.getByRole("button", { name: "Update now" })).toBeDisabled();
  await page.keyboard.press("Escape");
  // Nor by shortcuts, from the command palette, or with a selection.
  await hello.getByRole("link", { name: "hello" }).focus();
  await page.keyboard.press("r");
  await expect(page.locator(".toast")).toContainText("hello is disabled");
  await page.keyboard.press("x");
  const bar = page.getByRole("group", { name: "With the selected resources" });
  await expect(bar.getByRole("button", { name: "Update now" })).toBeDisabled();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("update hello now");
  await expect(page.getByRole("option", { name: "Update hello now" })).toHaveCount(0);
});

test("resets the trigger button when the request is refused", async ({ lilt, page }) => {
  let sendRefusal = () => {};
  await page.routeWebSocket(/\/ws$/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      if (!String(message).includes('"trigger"')) server.send(message);
      else sendRefusal = () => socket.send(JSON.stringify({ type: "refused", message: "not now" }));
    });
  });
  await page.goto(`${lilt.address}/`);
  // The first update has finished: another change of the resource would count as a response.
  await expect(row(page, "hello")).toContainText("Up to date");
  const button = page.getByRole("button", { name: "Update hello now" });
  await button.click();
  await expect(button).toHaveClass(/\brequested\b/);
  sendRefusal();
  await expect(page.locator(".toast")).toContainText("not now");
  await expect(button).not.toHaveClass(/\brequested\b/);
});

test("keeps a row that no longer matches the status filter until the filter changes", async ({
  lilt,
  page,
}) => {
  await page.goto(`${lilt.address}/`);
  await page.getByRole("button", { name: /1\s*Failing/ }).click();
  await expect(row(page, "broken")).toBeVisible();
  lilt.write("fixed", "mended\n");
  await expect(row(page, "broken")).toContainText("Up to date");
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.locator("tr[data-resource]")).toHaveCount(6);
});

test("finds and runs commands in the command palette", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "byhand")).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("now byh");
  await page.keyboard.press("Enter");
  await expect(row(page, "byhand")).toContainText("Up to date");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("hello");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
});

test.describe("buttons of the Tiltfile", () => {
  test.use({
    tiltfile: `
load('ext://uibutton', 'cmd_button', 'text_input', 'bool_input', 'choice_input', 'hidden_input', 'location')
local_resource('app', cmd='true')
cmd_button('greet', resource='app', text='Greet', icon_svg='<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8H0z"/></svg>',
  argv=['sh', '-c', 'echo "$WHO / $LOUD / $TONE / $SECRET" >> clicked'],
  inputs=[text_input('WHO', default='Ada', label='Whom'), bool_input('LOUD', true_string='loud', false_string='soft'),
          choice_input('TONE', choices=['warm', 'cold']), hidden_input('SECRET', 'x1')])
cmd_button('wipe', resource='app', text='Wipe', icon_name='delete_forever', requires_confirmation=True, argv=['sh', '-c', 'echo wiped >> clicked'])
cmd_button('gone', resource='app', text='Gone', icon_svg='<svg xmlns="http://www.w3.org/2000/svg"><path fill="#e33" d="M0 0h8"/></svg>', disabled=True, argv=['true'])
cmd_button('everywhere', location=location.NAV, text='Everywhere', argv=['sh', '-c', 'echo nav >> clicked'])
`,
  });

  test("open a form, ask for confirmation, and run", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    const app = row(page, "app");
    await expect(app.locator("[data-icon=delete_forever]")).toBeVisible();
    await app.getByRole("button", { name: "Greet" }).click();
    const form = page.getByRole("dialog", { name: "Greet" });
    await expect(form.getByLabel("Whom")).toHaveValue("Ada");
    expect(await violations(page, "form")).toEqual([]);
    await form.getByLabel("Whom").fill("Grace <b>");
    await form.getByLabel("LOUD").check();
    await form.getByLabel("TONE").selectOption("cold");
    await form.getByRole("button", { name: "Greet" }).click();
    await expect.poll(() => lilt.read("clicked")).toBe("Grace <b> / loud / cold / x1\n");
    await app.getByRole("button", { name: "Wipe" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await app.getByRole("button", { name: "Wipe" }).click();
    await page.getByRole("button", { name: "Confirm" }).click();
    await expect.poll(() => lilt.read("clicked")).toContain("wiped");
    await page.getByRole("banner").getByRole("button", { name: "Everywhere" }).click();
    await expect.poll(() => lilt.read("clicked")).toContain("nav");
    expect(lilt.read("clicked")?.match(/wiped/g)).toHaveLength(1);
  });

  test("remember their inputs, return the focus, and take the colour of the text", async ({ lilt, page }) => {
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${lilt.address}/`);
    const app = row(page, "app");
    const greet = app.getByRole("button", { name: "Greet" });
    const form = page.getByRole("dialog", { name: "Greet" });
    await greet.click();
    expect(await violations(page, "form", { colorsOnly: true })).toEqual([]);
    await form.getByRole("button", { name: "Cancel" }).click();
    await expect(greet).toBeFocused();
    await greet.press("Enter");
    await page.keyboard.press("Escape");
    await expect(greet).toBeFocused();
    await greet.press("Enter");
    await form.getByLabel("Whom").fill("Lin");
    await form.getByLabel("Whom").press("Enter");
    await expect(greet).toBeFocused();
    await expect.poll(() => lilt.read("clicked")).toBe("Lin / soft / warm / x1\n");
    await page.reload();
    await greet.click();
    await expect(form.getByLabel("Whom")).toHaveValue("Lin");
    await page.keyboard.press("Escape");
    await expect(app.getByRole("button", { name: "Gone" })).toBeDisabled();
    await expect(app.getByRole("button", { name: "Gone" }).locator("img")).toHaveAttribute("src", /^data:/);
    const [iconColor, text] = await greet.evaluate((button) =>
      [getComputedStyle(button.querySelector(".mask-icon") as Element), getComputedStyle(button)].map(
        (style, index) => (index === 0 ? style.backgroundColor : style.color),
      ),
    );
    expect(iconColor).toBe(text);
    await expect(greet.locator(".mask-icon")).toHaveCSS("mask-image", /^url\("data:image\/svg/);
  });

  test("are in the command palette, with their forms", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    await expect(row(page, "app").getByRole("button", { name: "Greet" })).toBeVisible();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("greet");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("dialog", { name: "Greet" }).getByLabel("Whom")).toBeFocused();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("everywhere");
    await page.keyboard.press("Enter");
    await expect.poll(() => lilt.read("clicked")).toBe("nav\n");
  });
});

test.describe("trigger button", () => {
  test.use({
    tiltfile: `
local_resource('slow', cmd='touch started; exec sleep 600', auto_init=False)
local_resource('waits', cmd='cat input || true', deps=['input'], trigger_mode=TRIGGER_MODE_MANUAL)
`,
  });

  test("starts an update, applies pending changes, and stops a running update", async ({ lilt, page }) => {
    lilt.write("input", "one");
    await page.goto(`${lilt.address}/r/slow/overview`);
    const button = page.locator(".resource-header .trigger");
    await expect(button).toHaveText("Start");
    await button.click();
    await expect(button).toHaveText("Stop update");
    await expect(page).toHaveTitle(/^… slow/);
    await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /^data:image.*2563eb/);
    await button.click();
    await expect(button).toHaveText("Update now");
    await page.goto(`${lilt.address}/r/waits/overview`);
    await expect(button).toHaveText(/Update/);
    // Retried until lilt watches the file.
    await expect(async () => {
      lilt.write("input", String(Math.random()));
      await expect(button).toHaveText("Update with changes", { timeout: 1_000 });
    }).toPass();
    await button.click();
    await expect(button).toHaveText("Update now");
  });
});

test.describe("with all update slots in use", () => {
  test.use({
    tiltfile: `
update_settings(max_parallel_updates=1)
local_resource('slow', cmd='while [ ! -e go ]; do sleep 0.05; done')
local_resource('next', cmd='true', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)
`,
  });

  test("queues a requested update and runs it later", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    await expect(row(page, "slow")).toContainText("Updating");
    await page.getByRole("button", { name: "Update next now" }).click();
    const status = row(page, "next").locator(".status").first();
    await expect(status).toContainText("Queued");
    // A queued update can be cancelled and requested again.
    await page.getByRole("button", { name: "Take back the update of next" }).click();
    await expect(status).toContainText("Not started");
    await page.getByRole("button", { name: "Update next now" }).click();
    await expect(status).toContainText("Queued");
    lilt.write("go", "");
    await expect(row(page, "slow")).toContainText("Up to date");
    await expect(row(page, "next")).toContainText("Up to date");
  });
});
