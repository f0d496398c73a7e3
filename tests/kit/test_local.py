"""Paths are offered to nobody of whom it is not certain that the machine is theirs."""

from __future__ import annotations

import pytest
import streamlit as st

from dpsyn.kit.local import SWITCH, is_local

BROWSER = {
    "Host": "localhost:8501",
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Origin": "http://localhost:8501",
    "User-Agent": "Mozilla/5.0",
    "Accept-Encoding": "gzip",
    "Sec-Websocket-Key": "x",
    "Sec-Fetch-Site": "same-origin",
    "Cookie": "_streamlit_xsrf=1",
}


@pytest.fixture
def come(monkeypatch):
    """A visit with other headers, from another address, or to a server that was started otherwise."""

    def visit(*, switch="1", listens="localhost", address=None, **headers):
        monkeypatch.setenv(SWITCH, switch)
        monkeypatch.setattr(st, "get_option", {"server.address": listens}.__getitem__)
        monkeypatch.setattr(type(st.context), "ip_address", address)
        found = BROWSER | {name.replace("_", "-"): value for name, value in headers.items()}
        monkeypatch.setattr(type(st.context), "headers", {k: v for k, v in found.items() if v is not None})
        return is_local()

    return visit


def test_a_browser_at_this_machine_is_let_in(come):
    assert come()
    assert come(listens="127.0.0.1", Host="127.0.0.1:8501", Origin="http://127.0.0.1:8501")
    assert come(listens="::1", Host="[::1]:8501", Origin="http://[::1]:8501")


@pytest.mark.parametrize("switch", ["", "0", "yes"])
def test_without_the_switch_nobody_is(come, switch):
    assert not come(switch=switch)


@pytest.mark.parametrize("listens", [None, "0.0.0.0", "::", "192.168.0.4"])
def test_a_server_that_others_reach_lets_nobody_in(come, listens):
    assert not come(listens=listens)


def test_a_visit_from_elsewhere_is_not_let_in(come):
    assert not come(address="192.168.0.9")


@pytest.mark.parametrize(
    "name",
    [
        "Via",
        "CF_Connecting_IP",
        "X_Forwarded_Host",
        "X_Forwarded_For",
        "Forwarded",
        "X_Real_IP",
        "X_Something",
        "True_Client_IP",
    ],
)
def test_a_header_that_no_browser_sends_shuts_the_door(come, name):
    assert not come(**{name: "localhost"})


@pytest.mark.parametrize(
    "host", [None, "", "example.org", "localhost.example.org", "localhost:8501@evil", "127.0.0.1.example.org", "//[", "::1"]
)
def test_an_odd_host_or_origin_shuts_the_door(come, host):
    assert not come(Host=host)
    assert not come(Origin=host if host is None else f"https://{host}")
